"""What runs in a peer's own environment; imports nothing of crowdwise."""
