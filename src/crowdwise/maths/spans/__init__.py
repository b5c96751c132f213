"""Maths of spans: where they lie, how far they overlap, what a crowd of them says of every piece of a text."""
