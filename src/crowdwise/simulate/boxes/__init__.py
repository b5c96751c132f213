"""Planted crowds that draw boxes."""
