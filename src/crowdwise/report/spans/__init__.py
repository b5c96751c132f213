"""The page of a crowd that marks spans."""
