"""Judges: dependence, stacks, confidences, biases, budgets, tasks without one truth."""
