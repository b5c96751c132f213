"""Scores of clusters, and what to say of them."""
