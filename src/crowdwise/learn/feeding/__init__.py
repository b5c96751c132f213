"""From votes and features to batches."""
