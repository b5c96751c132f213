"""Estimates with intervals and guarantees from few gold labels."""
