"""How good are outlines, given the true ones: IoU and Dice of what they enclose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.describe import common
from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scored, Table
from ...stats.bootstrap import bootstrap_interval
from .answers import Outlines
from .estimate import OutlineEstimate
from .fitting import outline_truth
from .maths import fill_even_odd, grid

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


# ----------------------------------------------------------------
# Outlines for people: what a file holds, what a fit comes to, its workers, what a saved result shows.

Row = list[str]


def describe(votes: Votes[Outlines]) -> dict[str, Any]:
    """Sizes, outlines an answer, points an outline."""
    own = votes.answers
    return {
        **common(votes),
        "outlines": len(own.length),
        "answers_without_outlines": int((own.size == 0).sum()),
        "points_per_outline": float(own.length.mean()) if len(own.length) else None,
    }


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Rows for the table of sizes, tables, and advice."""
    mean = facts["points_per_outline"]
    rows = [
        ["outlines", f"{facts['outlines']:,}"],
        ["answers without outlines", f"{facts['answers_without_outlines']:,}"],
        ["points an outline", "–" if mean is None else f"{mean:.1f}"],
        ["pictures that several looked at", f"{facts['tasks_with_several_labels']:,}"],
    ]
    return rows, [], [] if facts["outlines"] else ["nobody drew an outline: is it the right column?"]


def sentences(votes: Votes[Outlines], result: Result) -> list[str]:  # noqa: ARG001
    """How many outlines there are, and on how many pictures the workers differ much."""
    own = result.estimate
    assert isinstance(own, OutlineEstimate)
    far = int((own.agreement < 0.5).sum())
    n, empty = int(own.n_outlines.sum()), int((own.n_outlines == 0).sum())
    out = [f"{n:,} outlines on {len(own):,} pictures, {empty:,} of them without any"]
    return [*out, f"on {far:,} pictures the workers' masks overlap the result by less than half"] if far else out


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """The best and the worst by the overlap of their masks with the others' result."""
    table = result.worker_table().filter(result.worker_table()["iou"].is_not_null()).sort("iou", descending=True)
    some = table if len(table) <= 2 * limit else table.head(limit).vstack(table.tail(limit))
    rows = [[str(r["worker"]), f"{r['n_labels']:,}", f"{r['iou']:.3f}", f"{r['iou_low']:.3f} – {r['iou_high']:.3f}"]
            for r in some.to_dicts()]  # fmt: skip
    if len(some) < len(table):
        rows.insert(limit, ["…", "", "", ""])
    return ["worker", "pictures", "IoU with the others", "95 % interval"], rows


def show(result: Result) -> tuple[str, list[Table]]:
    """The pictures on which the workers differ most."""
    own = result.estimate
    assert isinstance(own, OutlineEstimate)
    order = np.argsort(np.nan_to_num(own.agreement, nan=2.0), kind="stable")[:5]
    rows = [
        [str(result.tasks[int(i)]), f"{own.n_outlines[i]}", f"{own.agreement[i]:.3f}", str(result.labels_per_task[i])]
        for i in order
    ]
    return own.summary(), [Table("Most disputed pictures", ["task", "outlines", "mean IoU", "answers"], rows)]
