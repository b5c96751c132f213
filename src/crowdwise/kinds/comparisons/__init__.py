"""Answers that say which of two items wins."""
