"""Label sets: how near they come to the truth, and what it costs."""
