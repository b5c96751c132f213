"""Readers of the open data sets, and their scores: golden tests and benchmarks use the same."""
