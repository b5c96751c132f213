"""Maths of triplets: places of items from answers which of two is more like a third."""
