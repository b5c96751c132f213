"""Nets that learn from same or different."""
