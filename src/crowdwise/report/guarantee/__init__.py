"""Sections about promises: figures with intervals, accepted tasks, fairness."""
