"""Lines as answers, and how they are read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from crowdwise.core.answers import Answers, Coder
from crowdwise.core.errors import DataError
from crowdwise.core.votes import frozen

from .maths import resample

# Names of the column in files, best first.
NAMES = "line polyline path"


@dataclass(frozen=True, eq=False)
class Lines(Answers):
    """One line per row: length[row] points of point[point, x y]."""

    kind: ClassVar[str] = "polyline"

    length: np.ndarray
    point: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "length", frozen(self.length))
        object.__setattr__(self, "point", frozen(self.point))

    def __len__(self):
        return len(self.length)

    @cached_property
    def _first(self):
        return np.concatenate([[0], np.cumsum(self.length)])

    def of_row(self, row):
        """The points of a row."""
        return self.point[self._first[row] : self._first[row + 1]]

    @cached_property
    def resampled(self):
        """resampled[row, point, x y]: every line with the same number of points."""
        return resample([self.of_row(row) for row in range(len(self))])

    def take(self, rows):
        return lines([self.of_row(row) for row in np.arange(len(self))[rows]])

    def join(self, other):
        return Lines(np.concatenate([self.length, other.length]), np.concatenate([self.point, other.point]))

    def columns(self):
        texts = [json.dumps(np.round(self.of_row(row), 6).tolist()) for row in range(len(self))]
        return {"line": pl.Series("line", texts, dtype=pl.String)}

    def keys(self):
        return (self.columns()["line"].rank("dense").to_numpy(),)


def lines(points):
    """The answers of a list of arrays of points."""
    flat = np.concatenate(points) if points else np.empty((0, 2))
    return Lines(np.array([len(line) for line in points], dtype=np.int64), flat)


class LineCoder(Coder):
    """Read a column of JSON texts."""

    def __init__(self, columns):
        values = columns.pop("line")
        texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        self.texts = pl.Series("line", texts, dtype=pl.String)
        self.null = self.texts.is_null().to_numpy()

    def __len__(self):
        return len(self.texts)

    def finish(self):
        """All lines; a row without an answer gets a placeholder."""
        return lines([np.zeros((1, 2)) if text is None else parse(text, i) for i, text in enumerate(self.texts, 1)])


def parse(text, row):
    """The points of a cell."""
    try:
        point = np.array(json.loads(text), dtype=np.float64)
    except (ValueError, TypeError):
        point = np.empty(0)
    if point.ndim != 2 or point.shape[1] != 2 or len(point) < 2 or not np.isfinite(point).all():
        raise DataError(f"row {row}: {text[:40]!r} is not a line; write a JSON list of at least two [x, y]")
    return point


def detect_columns(header):
    """The column of lines in a header, or None."""
    column = next((name for name in header if name.strip().lower() in NAMES.split()), None)
    return None if column is None else {"line": column}
