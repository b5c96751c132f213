"""Learning from same or different: a cluster of every item from its features."""
