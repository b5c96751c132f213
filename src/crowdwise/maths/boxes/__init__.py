"""Maths of boxes and of what is drawn on pictures."""
