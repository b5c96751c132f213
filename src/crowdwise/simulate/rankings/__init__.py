"""Planted crowds of rankings."""
