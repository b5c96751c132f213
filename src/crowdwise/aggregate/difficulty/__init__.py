"""Tasks differ in difficulty."""
