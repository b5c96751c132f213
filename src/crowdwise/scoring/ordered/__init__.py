"""Classes with an order: how far they are off."""
