"""Conversion of the user's columns to integer codes."""
