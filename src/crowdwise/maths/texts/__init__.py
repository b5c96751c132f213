"""Maths of free texts: how far two are apart, and what a crowd of them says together."""
