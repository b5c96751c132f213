"""The workers who answer with label sets."""
