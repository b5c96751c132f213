"""The page of triplets."""
