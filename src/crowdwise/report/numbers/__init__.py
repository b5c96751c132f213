"""The page of a crowd that gave numbers."""
