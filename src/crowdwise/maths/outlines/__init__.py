"""Maths of outlines: polygons as pixels, masks by vote and by STAPLE."""
