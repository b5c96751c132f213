"""Do promises hold: intervals of estimate, acceptance, label sets, refusals; against ppi-python and the naive way."""
