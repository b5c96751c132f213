"""Maths of comparisons: which of two items wins, scores of items, workers behind the answers."""
