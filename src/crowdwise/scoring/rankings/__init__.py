"""Rankings: how good they are."""
