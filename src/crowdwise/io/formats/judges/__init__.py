"""Parts of judges' logs: what a verdict says of itself, and pairs that were compared."""
