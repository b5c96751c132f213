"""How good it is: evaluation, comparison, calibration, and which tasks are doubtful."""
