"""crowdkit.metrics: `data` (of a table of labels) and `workers`."""
