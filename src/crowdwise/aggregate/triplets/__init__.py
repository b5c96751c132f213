"""Methods for triplets."""
