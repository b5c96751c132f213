"""Features and labels as tensors, in batches."""
