"""Measurements of crowdwise against its peers; nothing here is installed."""
