"""Answers that two items are the same, or different."""
