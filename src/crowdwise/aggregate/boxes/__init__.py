"""Methods for boxes."""
