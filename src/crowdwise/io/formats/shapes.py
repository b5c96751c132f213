"""The shapes that one worker drew on one image, as text for the coders of boxes and outlines."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from ...core.errors import DataError

# Kinds of answers.
BOXES, OUTLINES = "boxes", "outlines"


@dataclass
class Shapes:
    """Boxes [x1, y1, x2, y2, class] and outlines (points, class)."""

    boxes: list[list[Any]] = field(default_factory=list)
    outlines: list[list[Any]] = field(default_factory=list)

    def add_box(self, corners: list[float], label: str | None) -> None:
        """Add a box by its corners."""
        self.boxes.append([*corners, label] if label else [*corners])

    def add_outline(self, points: list[list[float]]) -> None:
        """Add an outline by its points."""
        self.outlines.append(points)

    def text(self, kind: str) -> str:
        """Return the answer as the text of a cell; boxes are converted to outlines if needed."""
        if kind == BOXES:
            return json.dumps(self.boxes, ensure_ascii=False)
        as_outlines = [[[b[0], b[1]], [b[2], b[1]], [b[2], b[3]], [b[0], b[3]]] for b in self.boxes]
        return json.dumps([*self.outlines, *as_outlines])

    def has(self, kind: str) -> bool:
        """Whether there is a shape of this kind."""
        return bool(self.boxes if kind == BOXES else self.outlines)


def numbers(values: Any, n: int | None, at: str, what: str) -> list[float]:
    """Parse n finite numbers (None: any even number of them) from a list of numbers or texts."""
    try:
        floats = [float(value) for value in values]
    except (TypeError, ValueError):
        floats = [math.nan]
    right_length = len(floats) == n if n is not None else len(floats) % 2 == 0 and len(floats) >= 2
    if not right_length or not all(math.isfinite(value) for value in floats):
        raise DataError(f"{at}: {what} is {str(values)[:60]!r}, where numbers are needed; export it again")
    return floats


def kind_to_read(kind: str | None, boxes: int, outlines: int) -> str | None:
    """Return the kind to read: the requested one, else the one that occurs."""
    if kind in (BOXES, OUTLINES):
        return kind
    if kind is not None:
        return None
    return BOXES if boxes else OUTLINES if outlines else None


def corners_of(x: float, y: float, width: float, height: float, degrees: float = 0.0) -> list[float]:
    """Return the corners of the bounding box of a rectangle that is rotated about its upper left corner."""
    turn = math.radians(degrees)
    cos, sin = math.cos(turn), math.sin(turn)
    points = [(0.0, 0.0), (width * cos, width * sin), (-height * sin, height * cos)]
    points.append((points[1][0] + points[2][0], points[1][1] + points[2][1]))
    xs, ys = [x + p[0] for p in points], [y + p[1] for p in points]
    return [round(v, 6) for v in (min(xs), min(ys), max(xs), max(ys))]
