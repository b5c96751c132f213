"""Numerical building blocks of the methods for classes."""
