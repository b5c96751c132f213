"""Answers that put items in an order."""
