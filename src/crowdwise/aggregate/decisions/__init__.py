"""Confidence of decisions, calibrated on gold, for kinds other than classes."""
