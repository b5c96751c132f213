"""Beliefs over the workers' matrices."""
