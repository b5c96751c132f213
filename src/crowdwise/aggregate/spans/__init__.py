"""Methods for spans of a text."""
