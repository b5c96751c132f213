"""Outlines as answers: every worker's polygons round what they see on a picture."""

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

from ...core.answers import Answers, Coder, Mask
from ...core.intake.coding import encode
from ...core.votes import Votes, frozen
from ..boxes.answers import LARGEST, _texts, refuse, short
from ..boxes.maths import spread, starts

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
NAMES = "outlines outline polygons polygon segmentation contours"
SHAPE = "a JSON list of outlines, each a list of [x, y]"


@dataclass(frozen=True, eq=False)
class Outlines(Answers):
    """size[row] outlines a row, length[outline] points each, all points one after the other: point[point, x y]."""

    kind: ClassVar[str] = "outlines"

    size: I8
    length: I8
    point: F8

    def __post_init__(self) -> None:
        for name in ("size", "length", "point"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def start(self) -> I8:
        """Where each row's outlines begin."""
        return starts(self.size)

    @cached_property
    def first(self) -> I8:
        """Where each outline's points begin."""
        return starts(self.length)

    def of_row(self, row: int) -> list[F8]:
        """The outlines of a row."""
        return [self.point[self.first[i] : self.first[i + 1]] for i in range(self.start[row], self.start[row + 1])]

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The outlines of these rows."""
        rows = np.arange(len(self))[rows]
        _, outline = spread(self.start[rows], self.size[rows])
        _, point = spread(self.first[outline], self.length[outline])
        return type(self)(self.size[rows], self.length[outline], self.point[point])

    def join(self, other: Self) -> Self:
        """Both."""
        both = (np.concatenate([getattr(self, n), getattr(other, n)]) for n in ("size", "length", "point"))
        return type(self)(*both)

    def columns(self) -> dict[str, pl.Series]:
        """The outlines as JSON."""
        return {"outlines": pl.Series("outlines", [write(self.of_row(i)) for i in range(len(self))], dtype=pl.String)}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """The text of the outlines."""
        return (self.columns()["outlines"].rank("dense").to_numpy(),)


def write(outlines: Sequence[F8]) -> str:
    """Outlines as a cell."""
    return json.dumps([[[short(x), short(y)] for x, y in np.round(points, 6).tolist()] for points in outlines])


def parse(text: str) -> list[list[list[float]]]:
    """The outlines of a cell; raises ValueError with what is wrong."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"is no JSON; {SHAPE} is needed") from None
    if not isinstance(given, list):
        raise ValueError(f"is no list; {SHAPE} is needed")
    if given and _pair(given[0]):
        given = [given]  # one outline, not in a list
    for outline in given:
        if not isinstance(outline, list) or not all(_pair(point) for point in outline):
            raise ValueError(f"has {str(outline)[:40]!r} where an outline is needed; {SHAPE} is needed")
    return [[[float(x), float(y)] for x, y in outline] for outline in given]


def _pair(point: Any) -> bool:
    return (isinstance(point, list) and len(point) == 2 and all(
        isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) and abs(v) <= LARGEST for v in point
    ))  # fmt: skip


class OutlineCoder(Coder):
    """A column of outlines as JSON text; an empty cell is no answer, `[]` is one."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.texts = _texts(columns.pop("outlines")).rename("outlines")
        self.thin = 0

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows without a text."""
        gone = (self.texts.is_null() | (self.texts.str.strip_chars() == "")).fill_null(True).to_numpy()
        return gone if gone.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these texts for no answer."""
        plain = self.texts.str.strip_chars()
        hit = plain.is_in(list(names)).fill_null(False)
        self.texts = self.texts.set(hit, None)
        return set(plain.filter(hit).unique().to_list())

    def finish(self) -> Outlines:
        """All outlines; those of fewer than three points are left out and counted."""
        found: list[list[list[list[float]]]] = []
        for row, text in enumerate(self.texts.to_list()):
            try:
                given = [] if text is None or not text.strip() else parse(text)
            except ValueError as error:
                raise refuse(row, text, "outlines", str(error)) from None
            found.append([outline for outline in given if len(outline) >= 3])
            self.thin += len(given) - len(found[-1])
        flat = [outline for row in found for outline in row]
        point = np.array([p for outline in flat for p in outline], dtype=np.float64).reshape(-1, 2)
        return Outlines(
            np.array([len(r) for r in found], dtype=np.int64), np.array([len(o) for o in flat], np.int64), point
        )

    def notes(self, answers: Any) -> tuple[str, ...]:  # noqa: ARG002
        """Outlines that were left out."""
        return (
            (f"{self.thin:,} outlines of fewer than three points were left out; their answers stay",)
            if self.thin
            else ()
        )


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """The column of outlines in a header."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    found = next((plain[name] for name in NAMES.split() if name in plain), None)
    return None if found is None else {"outlines": found}


def fits(column: pl.Series) -> bool:
    """Whether a column holds outlines: the first cells are read."""
    try:
        return any(parse(str(each)) for each in column.drop_nulls().head(30).to_list())
    except ValueError:
        return False


def claims(answers: pl.Series) -> str:
    """Why answers are outlines: all of them are lists of lists of points. A list of pairs alone may also be spans."""
    plain = answers.drop_nulls()
    if plain.dtype != pl.String or not fits(plain):
        return ""
    bare = plain.str.replace_all(r"\s", "")
    if not bare.filter(~bare.is_in(["", "[]"])).str.starts_with("[[[").all():
        return ""
    return "lists of points"


def outline_votes(
    task: Any, worker: Any, outlines: Any, *, duplicates: Any = "error", tasks: Any = None, workers: Any = None,
    missing: Sequence[Any] = (), **numbers: Any,
) -> Votes[Outlines]:  # fmt: skip
    """Votes from equally long columns; `outlines` holds a list of outlines a row, each a list of [x, y].

    >>> outline_votes([1, 1], ["ann", "bob"], [[[[0, 0], [4, 0], [4, 4]]], []])
    Votes(2 answers with outlines, 1 tasks, 2 workers)
    """
    columns: dict[str, Any] = {"task": task, "worker": worker, "outlines": outlines, **numbers}
    return Votes._of(
        encode(columns, OutlineCoder, duplicates=duplicates, tasks=tasks, workers=workers, missing=missing)
    )


# ---------------------------------------------------------------- How far two answers with outlines are apart

# Pixels that two answers are compared on.
MOST = 4096


def distance(answers: Outlines, i: I8, j: I8) -> F8:
    """1 - IoU of what the outlines enclose; two answers without outlines agree."""
    from .kernels import common_pixels

    i, j = (np.asarray(each, dtype=np.int64) for each in (i, j))
    both, either = np.empty(len(i), dtype=np.int64), np.empty(len(i), dtype=np.int64)
    common_pixels(answers.start, answers.first, answers.point, i, j, MOST, both, either)
    iou = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    blank = (answers.size[i] == 0) | (answers.size[j] == 0)
    return np.asarray(np.where(blank, (answers.size[i] != answers.size[j]).astype(np.float64), 1 - iou))
