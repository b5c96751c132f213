"""Planted crowds that say same or different."""
