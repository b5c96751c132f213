"""Training methods for classes."""
