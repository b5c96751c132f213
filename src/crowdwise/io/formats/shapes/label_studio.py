"""Rectangles and polygons among the results of Label Studio: percents of the picture, in pixels where it has a size."""

from __future__ import annotations

from typing import Any

from .drawn import BOXES, OUTLINES, Shapes, corners_of, numbers

# type of a result -> the kind of its answers
CONTROLS = {
    "rectanglelabels": BOXES,
    "rectangle": BOXES,
    "polygonlabels": OUTLINES,
    "polygon": OUTLINES,
}


def take(shapes: Shapes, result: dict[str, Any], value: dict[str, Any], at: str) -> None:
    """One result: a rectangle or a polygon."""
    kind = str(result["type"])
    wide, high = (_size(result.get(f"original_{name}")) for name in ("width", "height"))
    if CONTROLS[kind] == BOXES:
        x, y, width, height = numbers([value.get(name) for name in ("x", "y", "width", "height")], 4, at, "a rectangle")
        turn = numbers([value.get("rotation") or 0], 1, at, "rotation")[0]
        # Turned in pixels: a percent across is not a percent down.
        scaled = (x * wide, y * high, width * wide, height * high)
        named = value.get("rectanglelabels")
        label = str(named[0]) if isinstance(named, list) and named else None
        shapes.add_box(corners_of(*scaled, turn), label)
        return
    points = value.get("points")
    pairs = [numbers(pair, 2, at, "a point") for pair in points] if isinstance(points, list) else []
    shapes.add_outline([[round(x * wide, 6), round(y * high, 6)] for x, y in pairs])


def _size(value: Any) -> float:
    """Pixels in a percent; where the size is not known, percents stay."""
    try:
        return float(value) / 100 if float(value) > 0 else 1.0
    except (TypeError, ValueError):
        return 1.0
