"""Boxes and outlines in exports of image annotation tools."""
