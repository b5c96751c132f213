"""Answers of any kind, by how far two of them are apart."""
