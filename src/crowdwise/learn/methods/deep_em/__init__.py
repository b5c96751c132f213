"""Methods that alternate between targets and a classifier."""
