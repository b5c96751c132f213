"""Methods that take numbers."""
