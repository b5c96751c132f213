"""Planted crowds that answer with label sets."""

from .draw import SetCrowd, set_crowd

__all__ = ["SetCrowd", "set_crowd"]
