"""The page of same or different."""
