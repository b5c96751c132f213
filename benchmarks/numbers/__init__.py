"""Numeric answers: how near the estimates come to the truth, whether intervals cover, what it costs."""
