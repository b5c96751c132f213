"""Maths of "same or different": clusters of items from answers about pairs."""
