"""Answers that are classes."""
