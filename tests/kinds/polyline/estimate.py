"""The estimated line of each task, and how far each worker is from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from crowdwise.core.estimate import Estimate, WorkerSummary

from .answers import lines


@dataclass(frozen=True, eq=False)
class LineEstimate(Estimate):
    """point[task, point, x y] of each task, and the mean distance of its answers from it (NaN without answers)."""

    kind: ClassVar[str] = "polyline"
    rules: ClassVar = {"point": ("n**", "f", "finite"), "apart": ("n", "f", "any")}
    needed: ClassVar = ("point", "apart")
    without_labels: ClassVar[str] = "a line without length"

    point: np.ndarray
    apart: np.ndarray

    @classmethod
    def of(cls, arrays, names, params):
        return cls(arrays["point"], arrays["apart"])

    def __len__(self):
        return len(self.point)

    @cached_property
    def answers(self):
        """The lines as answers, one row per task."""
        return lines(list(self.point))

    def table(self, n_labels):
        apart = pl.Series(self.apart).fill_nan(None)
        return {"line": self.answers.columns()["line"], "apart": apart, "n_labels": n_labels}

    def answer_columns(self):
        return ("line",)

    def summary(self):
        apart = self.apart[np.isfinite(self.apart)]
        mean = f", {apart.mean():.1f} pixels from the answers in the mean" if len(apart) else ""
        return f"{len(self):,} lines{mean}"


@dataclass(frozen=True, eq=False)
class LineWorkers(WorkerSummary):
    """off[worker]: mean distance of a worker's lines from the estimates; NaN without answers."""

    rules: ClassVar = {"off": ("m", "f", "any")}
    needed: ClassVar = ("off",)

    off: np.ndarray

    @classmethod
    def of(cls, arrays, names, params):
        return cls(arrays["off"])

    def table(self):
        return {"off": pl.Series(self.off).fill_nan(None)}
