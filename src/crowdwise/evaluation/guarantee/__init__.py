"""Estimates with valid intervals and labels with a guaranteed error rate, from verdicts and gold."""
