"""Fairness between groups of tasks and of workers."""
