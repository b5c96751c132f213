"""Planted crowds that draw outlines."""
