"""Nets that learn from comparisons."""
