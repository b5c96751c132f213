"""Workers who draw boxes."""
