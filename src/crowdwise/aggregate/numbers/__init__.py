"""Numbers: means, and workers with biases, noise and scales of their own."""
