"""The maths of classes with an order."""
