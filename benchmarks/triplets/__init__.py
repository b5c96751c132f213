"""Triplets: the open set, planted crowds, flags."""
