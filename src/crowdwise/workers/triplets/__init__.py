"""Workers of triplets."""
