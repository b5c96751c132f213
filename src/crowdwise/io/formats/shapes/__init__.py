"""Boxes and outlines in the exports of tools that draw them."""
