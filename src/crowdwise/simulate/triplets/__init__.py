"""Planted crowds of triplets."""
