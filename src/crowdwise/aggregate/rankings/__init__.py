"""Methods for rankings."""
