"""Methods for classes with an order."""
