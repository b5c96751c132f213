"""Confusion."""
