"""Methods for label sets."""
