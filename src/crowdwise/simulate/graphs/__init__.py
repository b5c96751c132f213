"""Planted crowds whose tasks have links."""

from .draw import linked_crowd

__all__ = ["linked_crowd"]
