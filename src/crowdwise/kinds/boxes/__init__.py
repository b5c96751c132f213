"""Answers that are boxes drawn on a picture."""
