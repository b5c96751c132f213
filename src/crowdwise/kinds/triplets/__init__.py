"""Answers which of two items is more like a third."""
