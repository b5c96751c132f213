"""Comparisons: how good they are."""
