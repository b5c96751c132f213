"""Pure functions on arrays. Nothing here knows a file, a method or a result."""
