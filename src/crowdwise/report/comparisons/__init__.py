"""The page of a crowd that compared items."""
