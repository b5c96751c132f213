"""cleanlab.internal: the helpers that cleanlab documents for data with several annotators."""
