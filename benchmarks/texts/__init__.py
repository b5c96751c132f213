"""Free texts: quality on the open sets and in planted crowds."""
