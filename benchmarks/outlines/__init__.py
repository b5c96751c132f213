"""Outlines: the open set, planted crowds."""
