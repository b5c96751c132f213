"""Answers that are outlines drawn on a picture."""
