"""The page of a crowd that answers with label sets."""
