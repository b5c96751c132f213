"""Methods for free texts."""
