"""Promises about labels: figures from few gold labels and many verdicts, acceptance, label sets; arrays only."""
