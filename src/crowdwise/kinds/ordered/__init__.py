"""Ordered."""
