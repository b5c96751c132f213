"""Ensemble."""
