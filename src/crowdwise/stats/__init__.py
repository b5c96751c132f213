"""Statistics that two or more kinds of answers use."""
