"""Scores of outlines against the truth: IoU and Dice of the enclosed areas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core.describe import common
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import scored_tasks
from ...evaluation.scores import Scores, Table
from ...stats.bootstrap import bootstrap_intervals, ratio_of_sums
from .answers import Outlines
from .estimate import OutlineEstimate
from .fitting import outline_truth
from .maths import fill_even_odd, grid

SCORES = {"iou": "mean IoU", "dice": "mean Dice", "good": "images with IoU at least .5"}
# Number of pixels on which an image is compared, at most.
MAX_PIXELS = 40_000


@dataclass(frozen=True, repr=False, kw_only=True)
class OutlineEvaluation(Scores):
    """Scores over the images whose true outlines are known."""

    NAMES: ClassVar[Mapping[str, str]] = SCORES
    HEADLINE: ClassVar[tuple[str, ...]] = tuple(SCORES)
    UNIT: ClassVar[str] = "image"


def evaluate(
    result: Result | pl.DataFrame, truth: Any, *, fit_gold: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> OutlineEvaluation:
    """Score a result, or a table with the columns task, outlines, against the true outlines.

    The arguments are those of `evaluation.evaluate.evaluate`; `fit_gold` are the tasks that were gold in the fit.
    """
    if isinstance(result, Result):
        estimate = result.estimate
        assert isinstance(estimate, OutlineEstimate)
        tasks, estimated = result.tasks, estimate.answers
    else:
        names, outlines = outline_truth(result.select("task", pl.col("outlines").fill_null("[]")))
        order = names.arg_sort()
        tasks, estimated = names.gather(order), outlines.take(order.to_numpy())
    names, true_outlines = outline_truth(truth)
    scored = scored_tasks(tasks, names, fit_gold, "outlines")
    rows = zip(scored.estimate.tolist(), scored.truth.tolist(), strict=True)
    overlaps = np.array([_overlaps(estimated, i, true_outlines, j) for i, j in rows])
    terms = np.column_stack([overlaps, overlaps[:, 0] >= 0.5, np.ones(len(scored))])
    means = {name: ratio_of_sums(j, len(SCORES)) for j, name in enumerate(SCORES)}
    return OutlineEvaluation(
        n=len(scored),
        scores={name: float(terms[:, j].mean()) for j, name in enumerate(SCORES)},
        intervals=bootstrap_intervals(terms, means, 0.95, np.random.default_rng(seed)) if resamples else {},
        **scored.left_out,
    )


def _overlaps(a: Outlines, i: int, b: Outlines, j: int) -> tuple[float, float]:
    """Return IoU and Dice; both are 1 if both answers are empty."""
    shapes_a, shapes_b = a.of_row(i), b.of_row(j)
    x, y = grid([*shapes_a, *shapes_b], MAX_PIXELS)
    mask_a, mask_b = fill_even_odd(shapes_a, x, y), fill_even_odd(shapes_b, x, y)
    intersection, total = int((mask_a & mask_b).sum()), int(mask_a.sum() + mask_b.sum())
    return (intersection / (total - intersection), 2 * intersection / total) if total else (1.0, 1.0)


# ----------------------------------------------------------------
# Facts and summaries for display.

Row = list[str]


def describe(votes: Votes[Outlines]) -> dict[str, Any]:
    """Return the number of outlines, empty answers and points per outline."""
    outlines = votes.answers
    return {
        **common(votes),
        "outlines": len(outlines.length),
        "answers_without_outlines": int((outlines.size == 0).sum()),
        "points_per_outline": float(outlines.length.mean()) if len(outlines.length) else None,
    }


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Return rows for the table of sizes, further tables, and advice."""
    mean = facts["points_per_outline"]
    rows = [
        ["outlines", f"{facts['outlines']:,}"],
        ["answers without outlines", f"{facts['answers_without_outlines']:,}"],
        ["points per outline", "–" if mean is None else f"{mean:.1f}"],
        ["images with several answers", f"{facts['tasks_with_several_labels']:,}"],
    ]
    return rows, [], [] if facts["outlines"] else ["the file has no outlines; is it the right column?"]


def sentences(votes: Votes[Outlines], result: Result) -> list[str]:  # noqa: ARG001
    """Return the number of outlines and of images on which the workers differ much."""
    estimate = result.estimate
    assert isinstance(estimate, OutlineEstimate)
    n_disputed = int((estimate.agreement < 0.5).sum())
    n, empty = int(estimate.n_outlines.sum()), int((estimate.n_outlines == 0).sum())
    out = [f"{n:,} outlines on {len(estimate):,} images, {empty:,} of them without outlines"]
    return (
        [*out, f"on {n_disputed:,} images the workers' masks overlap the result by less than half"]
        if n_disputed
        else out
    )


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the best and the worst workers by the overlap of their masks with the others."""
    table = result.worker_table().filter(result.worker_table()["iou"].is_not_null()).sort("iou", descending=True)
    shown = table if len(table) <= 2 * limit else table.head(limit).vstack(table.tail(limit))
    rows = [[str(r["worker"]), f"{r['n_labels']:,}", f"{r['iou']:.3f}", f"{r['iou_low']:.3f} – {r['iou_high']:.3f}"]
            for r in shown.to_dicts()]  # fmt: skip
    if len(shown) < len(table):
        rows.insert(limit, ["…", "", "", ""])
    return ["worker", "images", "IoU with the others", "95 % interval"], rows


def show(result: Result) -> tuple[str, list[Table]]:
    """Return a summary and a table of the images on which the workers differ most."""
    estimate = result.estimate
    assert isinstance(estimate, OutlineEstimate)
    order = np.argsort(np.nan_to_num(estimate.agreement, nan=2.0), kind="stable")[:5]
    rows = [
        [
            str(result.tasks[int(i)]),
            f"{estimate.n_outlines[i]}",
            f"{estimate.agreement[i]:.3f}",
            str(result.labels_per_task[i]),
        ]
        for i in order
    ]
    return estimate.summary(), [Table("Most disputed images", ["task", "outlines", "mean IoU", "answers"], rows)]
