"""Maths of confidence: left-out labels, copies among workers, calibration on gold."""
