"""The one training loop and what belongs to it."""
