"""Scores of outlines, and what to say of them."""
