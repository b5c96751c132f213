"""Methods for comparisons."""
