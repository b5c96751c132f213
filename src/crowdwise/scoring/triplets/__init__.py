"""Scores of triplets."""
