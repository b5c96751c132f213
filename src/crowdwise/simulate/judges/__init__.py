"""Planted judges: families that err together, hard tasks, repeats, orders, stated confidences, prices."""

from .draw import Drawn, Panel, judged

__all__ = ["Drawn", "Panel", "judged"]
