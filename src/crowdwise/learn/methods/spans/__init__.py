"""Nets that learn from spans."""
