"""Planted crowds whose classes have an order."""

from .draw import OrderedCrowd, ordered_crowd

__all__ = ["OrderedCrowd", "ordered_crowd"]
