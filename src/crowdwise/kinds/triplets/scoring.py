"""How good are places of items, given a true scale of them: order along the first axis, triplets told right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.describe import common
from ...core.errors import DataError
from ...core.intake.frames import to_polars
from ...core.result import Result
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scored, Table
from ...stats.bootstrap import central
from ..comparisons.fitting import outcomes
from ..similarities.fitting import item_truth
from ..similarities.scoring import judged
from .answers import SIDES, Triplets
from .estimate import TripletEstimate
from .fitting import known_sides

F8 = npt.NDArray[np.float64]
SCORES = {
    "kendall": "Kendall of the first axis with the truth",
    "spearman": "Spearman of the first axis with the truth",
    "any_axis": "Kendall of the best direction in all axes",
    "triplets": "asked triplets told right",
}
HALVES = 200


@dataclass(frozen=True, repr=False)
class TripletEvaluation(Scored):
    """Scores over the items whose true number is known; an axis may point either way. Of a table of triplets only
    `triplets` can be said, and `n` counts them."""

    n: int
    scores: dict[str, float]
    truths_without_labels: int = 0
    n_gold_left_out: int = 0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> float:
        """kendall, spearman, any_axis, triplets."""
        if name in SCORES and name in self.scores:
            return self.scores[name]
        raise AttributeError(name)

    def __repr__(self) -> str:
        if "kendall" not in self.scores:
            return f"TripletEvaluation({self.n:,} triplets: {self.triplets:.3f} told right)"
        return f"TripletEvaluation({self.n:,} items: Kendall {self.kendall:.3f}, triplets {self.triplets:.3f})"

    def rows(self) -> list[list[str]]:
        """Name, value and interval."""
        out = []
        for key, name in SCORES.items():
            if key not in self.scores:
                continue
            value, ends = self.scores[key], self.intervals.get(key)
            shown = "–" if np.isnan(value) else f"{value:.4f}"
            out.append([name, shown, "–" if ends is None else f"{ends[0]:.4f} – {ends[1]:.4f}"])
        return out

    def tables(self) -> list[Table]:
        """Nothing more to show."""
        return []

    def headline(self) -> dict[str, float]:
        """Kendall ranks."""
        return dict(self.scores)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        scores: dict[str, dict[str, float | None]] = {}
        for name, value in self.scores.items():
            ends = self.intervals.get(name)
            scores[name] = {"value": None if np.isnan(value) else value}
            scores[name] |= {} if ends is None else {"low": ends[0], "high": ends[1]}
        rest = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        return {"n": self.n, **scores, **rest}


def evaluate(
    found: Result | pl.DataFrame,
    truth: Any,
    *,
    told: pl.Series | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> TripletEvaluation:
    """Score a Result, or a table head, left, right, closer, against a number of each item (a mapping, or a table item,
    score), or against the item that is closer in some tasks (task, label, or head, left, right, closer)."""
    if isinstance(found, Result) and _of_tasks(truth, found):
        return _known(found, truth, told, resamples, seed)
    table = item_truth(truth, "score")
    number = table["label"].cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    if number.null_count():
        bad = table["label"].filter(number.is_null())[0]
        raise DataError(
            f"the truth of an item is {str(bad)[:40]!r}, which is no number (a table item, score is needed)"
        )
    if not isinstance(found, Result):
        return _rows(found, table["item"], number.to_numpy(), told)
    own = found.estimate
    assert isinstance(own, TripletEstimate)
    at, there = lookup(own.items.cast(pl.String), table["item"].cast(pl.String))
    if int(there.sum()) < 2:
        raise DataError("fewer than two of the items in the truth were asked about here; do the ids match?")
    true = np.full(len(own.items), np.nan)
    true[at[there]] = number.to_numpy()[there]
    some = np.flatnonzero(np.isfinite(true))
    gone = among(found.tasks, told)
    asked = np.where(gone, 0, found.labels_per_task)
    scores = {**_orders(own.place[some], true[some]), "triplets": _triplets(own, true, asked)}
    intervals: dict[str, tuple[float, float]] = {}
    if resamples and len(some) >= 8:
        rng = np.random.default_rng(seed)
        draws = [_orders(own.place[rows], true[rows])
                 for rows in (rng.permutation(some)[: len(some) // 2] for _ in range(HALVES))]  # fmt: skip
        for name in ("kendall", "spearman", "any_axis"):
            wide = 1.96 * float(np.nanstd([each[name] for each in draws]))
            intervals[name] = (max(0.0, scores[name] - wide), min(1.0, scores[name] + wide))
    return TripletEvaluation(len(some), scores, int((~there).sum()), int(gone.sum()), intervals)


def _of_tasks(truth: Any, found: Result) -> bool:
    """Whether a truth names items that are closer, task by task."""
    if isinstance(truth, dict):
        names, values = list(truth), list(truth.values())
    else:
        frame = to_polars(truth)
        if "item" in frame.columns:
            return False
        if set(SIDES) <= set(frame.columns) or "closer" in frame.columns:
            return True
        if not {"task", "label"} <= set(frame.columns):
            return False
        names, values = frame["task"].to_list(), frame["label"].to_list()
    items = set(map(str, found.estimate.items.to_list()))  # type: ignore[attr-defined]
    return not any(str(name) in items for name in names) and any(str(value) in items for value in values)


def _known(found: Result, truth: Any, told: pl.Series | None, resamples: int, seed: int) -> TripletEvaluation:
    """The share of known triplets that are told right, those apart that the fit was told."""
    own = found.estimate
    assert isinstance(own, TripletEstimate)
    side = known_sides(truth, found.tasks, (own.head, own.left, own.right), own.items)
    some = (side >= 0) & (found.labels_per_task > 0)
    gone = some & among(found.tasks, told)
    use = some & ~gone
    if not use.any():
        raise DataError(ALL_GOLD.format(n=int(gone.sum())) if gone.any() else "no known triplet was asked about here")
    right = ((own.left_closer > 0.5) == (side == 0))[use]
    intervals: dict[str, tuple[float, float]] = {}
    if resamples:
        draws = np.random.default_rng(seed).integers(0, len(right), (resamples, len(right)))
        intervals["triplets"] = central(right[draws].mean(axis=1), len(right), 0.95)
    return TripletEvaluation(len(right), {"triplets": float(right.mean())}, int((side >= 0).sum() - some.sum()),
                             int(gone.sum()), intervals)  # fmt: skip


def _orders(place: F8, true: F8) -> dict[str, float]:
    from scipy.stats import kendalltau, spearmanr

    if np.ptp(true) == 0 or np.ptp(place[:, 0]) == 0:
        return dict.fromkeys(("kendall", "spearman", "any_axis"), float("nan"))
    design = np.column_stack([np.ones(len(place)), place])
    along = design @ np.linalg.lstsq(design, true, rcond=None)[0]
    return {
        "kendall": abs(float(kendalltau(place[:, 0], true)[0])),
        "spearman": abs(float(spearmanr(place[:, 0], true)[0])),
        "any_axis": abs(float(kendalltau(along, true)[0])),
    }


def _rows(found: pl.DataFrame, items: pl.Series, number: F8, told: pl.Series | None) -> TripletEvaluation:
    """How many triplets of a table, whose truth is no tie, are told right."""
    use, sides, gone = judged(found, items, ("head", "left", "right"), told)
    head, left, right = (number[side] for side in sides)
    gap = np.abs(head - right) - np.abs(head - left)
    some = found.filter(pl.Series(use))
    said = outcomes(some["closer"], some["left"], some["right"])
    if (said > 1).any() or (said < 0).any():
        bad = some["closer"].filter(pl.Series((said > 1) | (said < 0)))
        raise DataError(f"closer is {quote(bad)}, which is neither left nor right nor one of the two items")
    told_right = ((said == 0) == (gap > 0))[gap != 0]
    share = float(told_right.mean()) if len(told_right) else float("nan")
    return TripletEvaluation(len(told_right), {"triplets": share}, n_gold_left_out=gone)


def _triplets(own: TripletEstimate, true: F8, n_labels: npt.NDArray[np.int64]) -> float:
    """Of the triplets that were asked, and whose truth is no tie, the share that the places tell right."""
    gap = np.abs(true[own.head] - true[own.right]) - np.abs(true[own.head] - true[own.left])
    use = np.isfinite(gap) & (gap != 0) & (n_labels > 0)
    return float(((own.left_closer > 0.5) == (gap > 0))[use].mean()) if use.any() else float("nan")


# ----------------------------------------------------------------
# Triplets for people: what a file holds, what a fit comes to, what a saved result shows.

Row = list[str]


def describe(votes: Votes[Triplets]) -> dict[str, Any]:
    """Sizes, items, answers about an item, and how often the left side was said."""
    own = votes.answers
    three = np.bincount(np.concatenate([own.head, own.left, own.right]), minlength=len(own.items))
    return {
        **common(votes),
        "items": len(own.items),
        "answers_per_item": float(three.mean()) if len(three) else None,
        "said_left": float((own.side == 0).mean()) if len(own) else None,
    }


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Rows for the table of sizes, tables, and advice."""
    mean, left = facts["answers_per_item"], facts["said_left"]
    rows = [
        ["items", f"{facts['items']:,}"],
        ["answers about an item", "–" if mean is None else f"{mean:.1f}"],
        ["left side said", "–" if left is None else f"{left:.1%}"],
        ["triplets with several answers", f"{facts['tasks_with_several_labels']:,}"],
    ]
    few = mean is not None and mean < 10
    return rows, [], ["fewer than ten answers about an item: places will be rough"] if few else []


def sentences(votes: Votes[Triplets], result: Result) -> list[str]:  # noqa: ARG001
    """How the places are spread, and how many answers go with them."""
    own = result.estimate
    assert isinstance(own, TripletEstimate)
    picture: Any = result.picture
    n = result.labels_per_worker
    heard = np.isfinite(picture.skill) & (n > 0)
    out = [own.summary()]
    if heard.any():
        out.append(f"{np.average(picture.skill[heard], weights=n[heard]):.1%} of the answers go with the places")
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """The items at both ends of the first axis."""
    own = result.estimate
    assert isinstance(own, TripletEstimate)
    items = own.item_table().sort("axis_1")
    ends = items if len(items) <= 12 else items.head(6).vstack(items.tail(6))
    rows = [[f"{c:.3g}" if isinstance(c, float) else str(c) for c in row] for row in ends.iter_rows()]
    return own.summary(), [Table("Items at the ends of the first axis", items.columns, rows)]
