"""What one worker drew on one picture, as the text that the kinds read: boxes, or outlines."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from ....core.errors import DataError

# A shape's kind -> the kind of answers that it is.
BOXES, OUTLINES = "boxes", "outlines"


@dataclass
class Shapes:
    """Boxes [x1, y1, x2, y2, class] and outlines (points, class), as they are found."""

    boxes: list[list[Any]] = field(default_factory=list)
    outlines: list[list[Any]] = field(default_factory=list)

    def add_box(self, corners: list[float], label: str | None) -> None:
        """A box by its corners."""
        self.boxes.append([*corners, label] if label else [*corners])

    def add_outline(self, points: list[list[float]]) -> None:
        """An outline by its points."""
        self.outlines.append(points)

    def text(self, kind: str) -> str:
        """The answer as a cell holds it; a box is an outline too."""
        if kind == BOXES:
            return json.dumps(self.boxes, ensure_ascii=False)
        around = [[[b[0], b[1]], [b[2], b[1]], [b[2], b[3]], [b[0], b[3]]] for b in self.boxes]
        return json.dumps([*self.outlines, *around])

    def has(self, kind: str) -> bool:
        """Whether there is a shape of this kind."""
        return bool(self.boxes if kind == BOXES else self.outlines)


def numbers(values: Any, n: int | None, at: str, what: str) -> list[float]:
    """So many finite numbers (None: any even number of them), from a list of numbers or of their texts."""
    try:
        found = [float(value) for value in values]
    except (TypeError, ValueError):
        found = [math.nan]
    good = len(found) == n if n is not None else len(found) % 2 == 0 and len(found) >= 2
    if not good or not all(math.isfinite(value) for value in found):
        raise DataError(f"{at}: {what} is {str(values)[:60]!r}, where numbers are needed; export it again")
    return found


def kind_asked(asked: str | None, boxes: int, outlines: int) -> str | None:
    """The kind that is read: what was asked for, or the only one that there is."""
    if asked in (BOXES, OUTLINES):
        return asked
    if asked is not None:
        return None
    return BOXES if boxes else OUTLINES if outlines else None


def corners_of(x: float, y: float, width: float, height: float, degrees: float = 0.0) -> list[float]:
    """The corners of the upright box round a rectangle that is turned about its upper left corner."""
    turn = math.radians(degrees)
    cos, sin = math.cos(turn), math.sin(turn)
    points = [(0.0, 0.0), (width * cos, width * sin), (-height * sin, height * cos)]
    points.append((points[1][0] + points[2][0], points[1][1] + points[2][1]))
    xs, ys = [x + p[0] for p in points], [y + p[1] for p in points]
    return [round(v, 6) for v in (min(xs), min(ys), max(xs), max(ys))]
