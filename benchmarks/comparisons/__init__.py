"""Comparisons: quality on the open sets, planted crowds, speed."""
