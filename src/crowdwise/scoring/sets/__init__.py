"""Label sets: how good they are."""
