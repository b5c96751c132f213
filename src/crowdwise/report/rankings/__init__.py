"""The page of a crowd that ranked items."""
