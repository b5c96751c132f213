"""Answers that mark spans of a text."""
