"""Weighted votes."""
