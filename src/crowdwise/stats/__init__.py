"""Statistics shared by several kinds of answers."""
