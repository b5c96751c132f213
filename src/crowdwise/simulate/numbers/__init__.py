"""Planted crowds of numbers."""

from .draw import NumberCrowd, number_crowd

__all__ = ["NumberCrowd", "number_crowd"]
