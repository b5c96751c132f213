"""The page of boxes."""
