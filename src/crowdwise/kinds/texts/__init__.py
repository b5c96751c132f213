"""Answers that are free texts."""
