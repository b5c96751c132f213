"""Rankings: quality on the open sets, planted crowds."""
