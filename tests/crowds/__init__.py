"""Planted crowds, and what is measured on them: tests and benchmarks use the same."""
