"""Skills from the workers' agreement."""
