"""Commands about promises: estimate, accept, fair."""
