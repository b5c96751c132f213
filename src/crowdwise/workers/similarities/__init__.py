"""Workers who say same or different."""
