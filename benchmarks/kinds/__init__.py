"""Every open set of the other kinds: the best figure that came with it, beside our default."""
