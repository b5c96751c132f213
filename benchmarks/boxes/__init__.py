"""Boxes: accuracy on the open set, planted crowds, speed."""
