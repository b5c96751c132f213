"""Aggregating numeric answers: ratings, scores, measurements. Pure functions on arrays."""
