"""Workers who are not independent."""
