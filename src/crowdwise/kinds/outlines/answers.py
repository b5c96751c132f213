"""Outlines as answers: the polygons that a worker drew on an image."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8
from ...core.intake.coding import encode
from ...core.intake.columns import first_named
from ...core.votes import Votes
from ...stats.ragged import spread, starts
from ..boxes.answers import LARGEST, JsonCoder, ShapeLists, short_number

# Names of the column of outlines in files, best first.
NAMES = "outlines outline polygons polygon segmentation contours"
SHAPE = "a JSON list of outlines, each a list of [x, y]"


@dataclass(frozen=True, eq=False)
class Outlines(ShapeLists):
    """The outlines of each answer, one answer after the other.

    Args:
        size: size[row], the number of outlines of each answer.
        length: length[outline], the number of points of each outline.
        point: point[point, x y].
    """

    kind: ClassVar[str] = "outlines"

    length: I8
    point: F8

    @cached_property
    def first(self) -> I8:
        """Index of the first point of each outline, and the number of points."""
        return starts(self.length)

    def of_row(self, row: int) -> list[F8]:
        """Return the outlines of a row."""
        return [self.point[self.first[i] : self.first[i + 1]] for i in range(self.start[row], self.start[row + 1])]

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Return the outlines of these rows."""
        rows = np.arange(len(self))[rows]
        _, outline = spread(self.start[rows], self.size[rows])
        _, point = spread(self.first[outline], self.length[outline])
        return type(self)(self.size[rows], self.length[outline], self.point[point])

    def join(self, other: Self) -> Self:
        """Return the rows of both."""
        arrays = (np.concatenate([getattr(self, n), getattr(other, n)]) for n in ("size", "length", "point"))
        return type(self)(*arrays)

    def columns(self) -> dict[str, pl.Series]:
        """Return the outlines as JSON."""
        return {"outlines": pl.Series("outlines", [write(self.of_row(i)) for i in range(len(self))], dtype=pl.String)}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Return a key that is equal for equal texts."""
        return (self.columns()["outlines"].rank("dense").to_numpy(),)


def write(outlines: Sequence[F8]) -> str:
    """Format outlines as a cell."""
    return json.dumps(
        [[[short_number(x), short_number(y)] for x, y in np.round(points, 6).tolist()] for points in outlines]
    )


def parse(text: str) -> list[list[list[float]]]:
    """Return the outlines of a cell. Raises ValueError if the cell cannot be parsed."""
    try:
        outlines = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"is not valid JSON; {SHAPE} is needed") from None
    if not isinstance(outlines, list):
        raise ValueError(f"is not a list; {SHAPE} is needed")
    if outlines and _pair(outlines[0]):
        outlines = [outlines]  # one outline, not in a list
    for outline in outlines:
        if not isinstance(outline, list) or not all(_pair(point) for point in outline):
            raise ValueError(f"has {str(outline)[:40]!r} where an outline is needed; {SHAPE} is needed")
    return [[[float(x), float(y)] for x, y in outline] for outline in outlines]


def _pair(point: Any) -> bool:
    return (isinstance(point, list) and len(point) == 2 and all(
        isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) and abs(v) <= LARGEST for v in point
    ))  # fmt: skip


class OutlineCoder(JsonCoder):
    """Read a column of outlines as JSON text."""

    column = "outlines"

    def __init__(self, columns: dict[str, Any]) -> None:
        super().__init__(columns)
        self.thin = 0

    def finish(self) -> Outlines:
        """Return all outlines. Those with fewer than three points are dropped and counted."""
        parsed = self.parse_rows(parse)
        rows = [[outline for outline in outlines if len(outline) >= 3] for outlines in parsed]
        self.thin += sum(map(len, parsed)) - sum(map(len, rows))
        flat = [outline for row in rows for outline in row]
        point = np.array([p for outline in flat for p in outline], dtype=np.float64).reshape(-1, 2)
        return Outlines(
            np.array([len(r) for r in rows], dtype=np.int64), np.array([len(o) for o in flat], np.int64), point
        )

    def notes(self, answers: Any) -> tuple[str, ...]:  # noqa: ARG002
        """Return a note about outlines that were dropped."""
        return (
            (f"{self.thin:,} outlines with fewer than three points were dropped; their answers were kept",)
            if self.thin
            else ()
        )


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Return the column of outlines in a header, or None."""
    column = first_named(header, NAMES)
    return None if column is None else {"outlines": column}


def accepts(column: pl.Series) -> bool:
    """Return whether a column holds outlines, judged by its first cells."""
    try:
        return any(parse(str(cell)) for cell in column.drop_nulls().head(30).to_list())
    except ValueError:
        return False


def explain_detection(answers: pl.Series) -> str:
    """Return the reason to read the answers as outlines, or "" if they are not all lists of lists of points.

    A flat list of pairs is not enough, as it may also be a list of spans.
    """
    texts = answers.drop_nulls()
    if texts.dtype != pl.String or not accepts(texts):
        return ""
    compact = texts.str.replace_all(r"\s", "")
    if not compact.filter(~compact.is_in(["", "[]"])).str.starts_with("[[[").all():
        return ""
    return "lists of points"


def outline_votes(
    task: Any, worker: Any, outlines: Any, *, duplicates: Any = "error", tasks: Any = None, workers: Any = None,
    missing: Sequence[Any] = (), **numbers: Any,
) -> Votes[Outlines]:  # fmt: skip
    """Return votes from equally long columns.

    Args:
        task: The task of each answer.
        worker: The worker who gave each answer.
        outlines: The outlines of each answer: a list of outlines, each a list of [x, y].
        duplicates: What to do when a worker answers a task twice: "error", "first", "last" or "keep".
        tasks: All tasks, if some have no answers.
        workers: All workers, if some gave no answers.
        missing: Texts that mean "no answer".
        **numbers: Further columns per answer, such as `weight` or `time`.

    Returns:
        The votes.
    >>> outline_votes([1, 1], ["ann", "bob"], [[[[0, 0], [4, 0], [4, 4]]], []])
    Votes(2 answers with outlines, 1 tasks, 2 workers)
    """
    columns: dict[str, Any] = {"task": task, "worker": worker, "outlines": outlines, **numbers}
    return Votes._of(
        encode(columns, OutlineCoder, duplicates=duplicates, tasks=tasks, workers=workers, missing=missing)
    )


# ---------------------------------------------------------------- Distance between two answers

# Number of pixels on which two answers are compared, at most.
MAX_PIXELS = 4096


def distance(answers: Outlines, i: I8, j: I8) -> F8:
    """Return 1 - IoU of the areas that answers i and j enclose. Two answers without outlines have distance 0."""
    from .kernels import common_pixels

    i, j = (np.asarray(rows, dtype=np.int64) for rows in (i, j))
    intersection, union = np.empty(len(i), dtype=np.int64), np.empty(len(i), dtype=np.int64)
    common_pixels(answers.start, answers.first, answers.point, i, j, MAX_PIXELS, intersection, union)
    iou = np.where(union > 0, intersection / np.maximum(union, 1), 1.0)
    has_empty = (answers.size[i] == 0) | (answers.size[j] == 0)
    return np.asarray(np.where(has_empty, (answers.size[i] != answers.size[j]).astype(np.float64), 1 - iou))
