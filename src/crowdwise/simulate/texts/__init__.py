"""Planted crowds that write texts."""

from .draw import TextCrowd, text_crowd

__all__ = ["TextCrowd", "text_crowd"]
