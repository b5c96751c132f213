"""Workers who gave numbers."""
