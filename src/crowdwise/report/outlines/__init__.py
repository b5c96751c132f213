"""The page of outlines."""
