"""Planted crowds of comparisons."""
