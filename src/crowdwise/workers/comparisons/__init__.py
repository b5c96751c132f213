"""Workers who compared items."""
