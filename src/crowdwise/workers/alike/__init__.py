"""The workers of any kind of answers that has a distance."""
