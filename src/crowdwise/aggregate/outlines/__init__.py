"""Methods for outlines."""
