"""Texts: how good they are, and how they are shown."""
