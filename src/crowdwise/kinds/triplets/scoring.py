"""Evaluation of embeddings (order along the first axis, correct triplets), and descriptions of votes and results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8
from ...core.describe import common
from ...core.errors import DataError
from ...core.intake.frames import to_polars
from ...core.result import Result
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scores, Table
from ...stats.bootstrap import central
from ..comparisons.fitting import outcomes
from ..similarities.fitting import item_truth
from ..similarities.scoring import rows_in_truth
from .answers import SIDES, Triplets
from .estimate import TripletEstimate
from .fitting import gold_sides

SCORES = {
    "kendall": "Kendall of the first axis with the truth",
    "spearman": "Spearman of the first axis with the truth",
    "any_axis": "Kendall of the best direction in all axes",
    "triplets": "correct triplets, of those with answers",
}
HALVES = 200


@dataclass(frozen=True, repr=False, kw_only=True)
class TripletEvaluation(Scores):
    """Scores over the items with a known number, where axes may point either way.

    For tables of triplets and for known triplets, `triplets` is the only score and `n` counts triplets.
    """

    NAMES: ClassVar[Mapping[str, str]] = SCORES
    HEADLINE: ClassVar[tuple[str, ...]] = tuple(SCORES)

    @property
    def unit(self) -> str:
        """What is scored, in the singular."""
        return "item" if "kendall" in self.scores else "triplet"


def evaluate(
    estimates: Result | pl.DataFrame,
    truth: Any,
    *,
    fit_gold: pl.Series | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> TripletEvaluation:
    """Score estimates against a true scale of the items or against known triplets.

    Args:
        estimates: A Result, or a table head, left, right, closer.
        truth: A number for each item (a mapping or a table item, score), or the closer item of some tasks (a table
            task, label or head, left, right, closer).
        fit_gold: Tasks that were gold in the fit; they are not scored.
        resamples: 0 leaves out the intervals of the scores.
        seed: Seed of the resampling.

    Raises:
        DataError: Nothing can be scored, or a table is malformed.
    """
    if isinstance(estimates, Result) and _of_tasks(truth, estimates):
        return _known(estimates, truth, fit_gold, resamples, seed)
    table = item_truth(truth, "score")
    number = table["label"].cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    if number.null_count():
        bad = table["label"].filter(number.is_null())[0]
        raise DataError(
            f"the truth of an item is {str(bad)[:40]!r}, which is not a number (a table item, score is needed)"
        )
    if not isinstance(estimates, Result):
        return _rows(estimates, table["item"], number.to_numpy(), fit_gold)
    estimate = estimates.estimate
    assert isinstance(estimate, TripletEstimate)
    at, is_known = lookup(estimate.items.cast(pl.String), table["item"].cast(pl.String))
    if int(is_known.sum()) < 2:
        raise DataError("fewer than two items of the truth occur in the estimates; do the ids match?")
    true = np.full(len(estimate.items), np.nan)
    true[at[is_known]] = number.to_numpy()[is_known]
    scored = np.flatnonzero(np.isfinite(true))
    was_gold = among(estimates.tasks, fit_gold)
    n_labels = np.where(was_gold, 0, estimates.labels_per_task)
    scores = {**_orders(estimate.place[scored], true[scored]), "triplets": _triplets(estimate, true, n_labels)}
    intervals: dict[str, tuple[float, float]] = {}
    if resamples and len(scored) >= 8:
        rng = np.random.default_rng(seed)
        draws = [_orders(estimate.place[rows], true[rows])
                 for rows in (rng.permutation(scored)[: len(scored) // 2] for _ in range(HALVES))]  # fmt: skip
        for name in ("kendall", "spearman", "any_axis"):
            wide = 1.96 * float(np.nanstd([draw[name] for draw in draws]))
            intervals[name] = (max(0.0, scores[name] - wide), min(1.0, scores[name] + wide))
    return TripletEvaluation(
        n=len(scored), scores=scores, intervals=intervals, truths_without_labels=int((~is_known).sum()),
        n_gold_left_out=int(was_gold.sum()),
    )  # fmt: skip


def _of_tasks(truth: Any, result: Result) -> bool:
    """Return whether the truth names the closer item task by task."""
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
    items = set(map(str, result.estimate.items.to_list()))  # type: ignore[attr-defined]
    return not any(str(name) in items for name in names) and any(str(value) in items for value in values)


def _known(result: Result, truth: Any, fit_gold: pl.Series | None, resamples: int, seed: int) -> TripletEvaluation:
    """Score known triplets, leaving out those that were gold in the fit."""
    estimate = result.estimate
    assert isinstance(estimate, TripletEstimate)
    side = gold_sides(truth, result.tasks, (estimate.head, estimate.left, estimate.right), estimate.items)
    answered = (side >= 0) & (result.labels_per_task > 0)
    was_gold = answered & among(result.tasks, fit_gold)
    use = answered & ~was_gold
    if not use.any():
        raise DataError(
            ALL_GOLD.format(n=int(was_gold.sum())) if was_gold.any() else "none of the known triplets has answers"
        )
    right = ((estimate.left_closer > 0.5) == (side == 0))[use]
    intervals: dict[str, tuple[float, float]] = {}
    if resamples:
        draws = np.random.default_rng(seed).integers(0, len(right), (resamples, len(right)))
        intervals["triplets"] = central(right[draws].mean(axis=1), len(right), 0.95)
    return TripletEvaluation(
        n=len(right), scores={"triplets": float(right.mean())}, intervals=intervals,
        truths_without_labels=int((side >= 0).sum() - answered.sum()), n_gold_left_out=int(was_gold.sum()),
    )  # fmt: skip


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


def _rows(table: pl.DataFrame, items: pl.Series, number: F8, fit_gold: pl.Series | None) -> TripletEvaluation:
    """Score the triplets of a table whose truth is not a tie."""
    use, sides, n_gold = rows_in_truth(table, items, ("head", "left", "right"), fit_gold)
    head, left, right = (number[side] for side in sides)
    gap = np.abs(head - right) - np.abs(head - left)
    scored = table.filter(pl.Series(use))
    side = outcomes(scored["closer"], scored["left"], scored["right"])
    if (side > 1).any() or (side < 0).any():
        bad = scored["closer"].filter(pl.Series((side > 1) | (side < 0)))
        raise DataError(f"closer is {quote(bad)}, which is neither left nor right nor one of the two items")
    correct = ((side == 0) == (gap > 0))[gap != 0]
    share = float(correct.mean()) if len(correct) else float("nan")
    return TripletEvaluation(n=len(correct), scores={"triplets": share}, n_gold_left_out=n_gold)


def _triplets(estimate: TripletEstimate, true: F8, n_labels: npt.NDArray[np.int64]) -> float:
    """Share of correct triplets among those with answers whose truth is not a tie."""
    gap = np.abs(true[estimate.head] - true[estimate.right]) - np.abs(true[estimate.head] - true[estimate.left])
    use = np.isfinite(gap) & (gap != 0) & (n_labels > 0)
    return float(((estimate.left_closer > 0.5) == (gap > 0))[use].mean()) if use.any() else float("nan")


# ----------------------------------------------------------------
# Descriptions of votes and results.

Row = list[str]


def describe(votes: Votes[Triplets]) -> dict[str, Any]:
    """Describe votes: the common facts plus items, answers per item, and the share of left answers."""
    answers = votes.answers
    per_item = np.bincount(np.concatenate([answers.head, answers.left, answers.right]), minlength=len(answers.items))
    return {
        **common(votes),
        "items": len(answers.items),
        "answers_per_item": float(per_item.mean()) if len(per_item) else None,
        "said_left": float((answers.side == 0).mean()) if len(answers) else None,
    }


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Return rows, tables and advice for `crowdwise inspect`."""
    mean, left = facts["answers_per_item"], facts["said_left"]
    rows = [
        ["items", f"{facts['items']:,}"],
        ["answers per item", "–" if mean is None else f"{mean:.1f}"],
        ["left answers", "–" if left is None else f"{left:.1%}"],
        ["triplets with several answers", f"{facts['tasks_with_several_labels']:,}"],
    ]
    few = mean is not None and mean < 10
    return rows, [], ["fewer than ten answers per item: the embedding will be rough"] if few else []


def sentences(votes: Votes[Triplets], result: Result) -> list[str]:  # noqa: ARG001
    """Describe the embedding and the share of answers that agree with it."""
    estimate = result.estimate
    assert isinstance(estimate, TripletEstimate)
    summary: Any = result.worker_summary
    n = result.labels_per_worker
    active = np.isfinite(summary.skill) & (n > 0)
    out = [estimate.summary()]
    if active.any():
        out.append(
            f"{np.average(summary.skill[active], weights=n[active]):.1%} of the answers agree with the embedding"
        )
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """Return the summary and a table of the items at both ends of the first axis."""
    estimate = result.estimate
    assert isinstance(estimate, TripletEstimate)
    items = estimate.item_table().sort("axis_1")
    ends = items if len(items) <= 12 else items.head(6).vstack(items.tail(6))
    rows = [[f"{c:.3g}" if isinstance(c, float) else str(c) for c in row] for row in ends.iter_rows()]
    return estimate.summary(), [Table("Items at the ends of the first axis", items.columns, rows)]
