"""Evaluation of results: scores, calibration, statements of accuracy, guarantees and fairness."""
