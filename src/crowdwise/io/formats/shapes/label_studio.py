"""Rectangles and polygons of Label Studio: percentages of the image, converted to pixels if its size is known."""

from __future__ import annotations

from typing import Any

from .drawn import BOXES, OUTLINES, Shapes, corners_of, numbers

# type of result -> kind of its answers
CONTROLS = {
    "rectanglelabels": BOXES,
    "rectangle": BOXES,
    "polygonlabels": OUTLINES,
    "polygon": OUTLINES,
}


def take(shapes: Shapes, result: dict[str, Any], value: dict[str, Any], at: str) -> None:
    """Add one result, a rectangle or a polygon."""
    kind = str(result["type"])
    wide, high = (_size(result.get(f"original_{name}")) for name in ("width", "height"))
    if CONTROLS[kind] == BOXES:
        x, y, width, height = numbers([value.get(name) for name in ("x", "y", "width", "height")], 4, at, "a rectangle")
        turn = numbers([value.get("rotation") or 0], 1, at, "rotation")[0]
        # Rotated in pixels: a percent of the width differs from a percent of the height.
        scaled = (x * wide, y * high, width * wide, height * high)
        named = value.get("rectanglelabels")
        label = str(named[0]) if isinstance(named, list) and named else None
        shapes.add_box(corners_of(*scaled, turn), label)
        return
    points = value.get("points")
    pairs = [numbers(pair, 2, at, "a point") for pair in points] if isinstance(points, list) else []
    shapes.add_outline([[round(x * wide, 6), round(y * high, 6)] for x, y in pairs])


def _size(value: Any) -> float:
    """Return pixels per percent; 1 if the size is unknown."""
    try:
        return float(value) / 100 if float(value) > 0 else 1.0
    except (TypeError, ValueError):
        return 1.0
