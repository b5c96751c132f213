"""Expectation maximisation: the loop, its passes over parts of the data, kernels and executors."""
