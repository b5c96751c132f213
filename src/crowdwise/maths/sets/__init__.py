"""The maths of label sets."""
