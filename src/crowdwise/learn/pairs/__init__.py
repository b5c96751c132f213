"""Answers about two items at a time: the net sees both."""
