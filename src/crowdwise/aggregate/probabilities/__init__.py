"""Answers that are probabilities of a yes."""
