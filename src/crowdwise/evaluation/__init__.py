"""Scores, comparisons, calibration and statements, whatever the kind of answers."""
