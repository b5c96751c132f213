"""JSON in all its forms."""
