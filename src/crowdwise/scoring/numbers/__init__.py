"""Numbers: how good they are."""
