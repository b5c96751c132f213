"""Matrices and tensors in factors."""
