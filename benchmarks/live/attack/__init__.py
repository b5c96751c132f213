"""Attacks on the live server, on this machine's loopback only, bounded in count and time."""
