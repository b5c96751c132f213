"""Maths of rankings: orders of items, with ties and gaps, and the workers behind them."""
