"""Scores of boxes, and what to say of them."""
