"""How good the labels and their probabilities are: real data sets and planted crowds."""
