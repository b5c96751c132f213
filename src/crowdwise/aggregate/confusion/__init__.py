"""Confusion matrices, by EM."""
