"""Training: nets for every kind of answer that has some, from the command line."""
