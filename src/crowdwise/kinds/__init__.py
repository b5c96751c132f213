"""Kinds of answers: what a worker can say, one module each."""
