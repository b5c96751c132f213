"""Gaps between groups, fair labels and fair loads."""
