"""Matrices from pairs and triples of workers."""
