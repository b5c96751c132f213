"""Planted crowds that mark spans of a text."""

from .draw import SpanCrowd, span_crowd

__all__ = ["SpanCrowd", "span_crowd"]
