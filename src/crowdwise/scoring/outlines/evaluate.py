"""How good are outlines, given the true ones: IoU and Dice of what they enclose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...aggregate.outlines.gold import outline_truth
from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup
from ...kinds.outlines.answers import Outlines
from ...kinds.outlines.estimate import OutlineEstimate
from ...maths.bootstrap import bootstrap_interval
from ...maths.outlines.raster import fill_even_odd, grid
from ..evaluate import ALL_GOLD, among
from ..scored import Scored, Table

F8 = npt.NDArray[np.float64]
SCORES = {"iou": "mean IoU", "dice": "mean Dice", "good": "pictures with IoU at least .5"}
# Pixels that a picture is compared on.
PIXELS = 40_000


@dataclass(frozen=True, repr=False)
class OutlineEvaluation(Scored):
    """Scores over the pictures whose true outlines are known."""

    n: int
    scores: dict[str, float]
    truths_without_labels: int = 0
    n_gold_left_out: int = 0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> float:
        """iou, dice, good."""
        if name in SCORES:
            return self.scores[name]
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"OutlineEvaluation({self.n:,} pictures: IoU {self.iou:.3f}, Dice {self.dice:.3f})"

    def rows(self) -> list[list[str]]:
        """Name, value and interval."""
        ends = {name: self.intervals.get(name) for name in SCORES}
        return [[name, f"{self.scores[key]:.4f}", "–" if (e := ends[key]) is None else f"{e[0]:.4f} – {e[1]:.4f}"]
                for key, name in SCORES.items()]  # fmt: skip

    def tables(self) -> list[Table]:
        """Nothing more to show."""
        return []

    def headline(self) -> dict[str, float]:
        """IoU ranks."""
        return dict(self.scores)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        ends = {name: dict(zip(("low", "high"), e, strict=True)) for name, e in self.intervals.items()}
        scores = {name: {"value": value, **ends.get(name, {})} for name, value in self.scores.items()}
        rest = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        return {"n": self.n, **scores, **rest}


def evaluate(
    found: Result | pl.DataFrame, truth: Any, *, told: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> OutlineEvaluation:
    """Score a Result, or a table task, outlines, against the true outlines."""
    if isinstance(found, Result):
        own = found.estimate
        assert isinstance(own, OutlineEstimate)
        tasks, mine = found.tasks, own.answers
    else:
        names, given = outline_truth(found.select("task", pl.col("outlines").fill_null("[]")))
        order = names.arg_sort()
        tasks, mine = names.gather(order), given.take(order.to_numpy())
    names, theirs = outline_truth(truth)
    at, known = lookup(tasks, names)
    if not known.any():
        raise DataError("none of the tasks in the truth has outlines here; do the task ids match?")
    gone = known & among(names, told)
    fair = np.flatnonzero(known & ~gone)
    if not len(fair):
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    terms = np.array([[*_overlaps(mine, int(at[i]), theirs, int(i)), 1.0] for i in fair])
    terms = np.column_stack([terms[:, :2], terms[:, 0] >= 0.5, terms[:, 2]])
    scores = dict(zip(SCORES, terms[:, :3].mean(axis=0).tolist(), strict=True))
    intervals = {}
    if resamples:
        rng = np.random.default_rng(seed)
        for j, name in enumerate(SCORES):
            ends = bootstrap_interval(terms, lambda sums, j=j: sums[:, j] / sums[:, 3], 0.95, rng)  # type: ignore[misc]
            if ends is not None:
                intervals[name] = ends
    return OutlineEvaluation(len(fair), scores, int((~known).sum()), int(gone.sum()), intervals)


def _overlaps(a: Outlines, i: int, b: Outlines, j: int) -> tuple[float, float]:
    """IoU and Dice; both 1 where both are empty."""
    one, two = a.of_row(i), b.of_row(j)
    x, y = grid([*one, *two], PIXELS)
    first, second = fill_even_odd(one, x, y), fill_even_odd(two, x, y)
    both, total = int((first & second).sum()), int(first.sum() + second.sum())
    return (both / (total - both), 2 * both / total) if total else (1.0, 1.0)
