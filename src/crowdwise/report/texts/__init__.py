"""The page of a crowd that writes texts."""
