"""Answers that are sets of classes."""
