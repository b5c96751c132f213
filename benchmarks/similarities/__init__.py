"""Same or different: the open set, planted crowds."""
