"""Aggregation of more answers than memory holds."""
