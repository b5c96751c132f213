"""Several methods together."""
