"""Learning from comparisons: losses that know how often answers are turned around."""
