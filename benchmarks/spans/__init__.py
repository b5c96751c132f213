"""Spans of a text: quality on the open set and in planted crowds, speed."""
