"""Scores of boxes against the truth: precision, recall and F1 at an IoU of .5 and .75, mean IoU, number of boxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.describe import common
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import check_estimates, scored_tasks
from ...evaluation.scores import Scores, Table, finite_or_none
from ...stats.bootstrap import bootstrap_intervals, ratio_of_sums
from .answers import Boxes
from .estimate import BoxEstimate
from .fitting import align_classes, box_truth
from .maths import match_lists

# Displayed names of the scores, in the order of display.
SCORES = {
    "precision": "precision at IoU .5",
    "recall": "recall at IoU .5",
    "f1": "F1 at IoU .5",
    "precision_75": "precision at IoU .75",
    "recall_75": "recall at IoU .75",
    "f1_75": "F1 at IoU .75",
    "mean_iou": "mean IoU of matched boxes",
    "count_error": "error in the number of boxes per image",
    "exact_count": "images with the right number of boxes",
}


@dataclass(frozen=True, repr=False, kw_only=True)
class BoxEvaluation(Scores):
    """Scores over the images whose true boxes are known. Boxes are matched one-to-one, class by class.

    Attributes:
        by_class: (true boxes, estimated boxes, F1 at IoU .5) of each class.
    """

    NAMES: ClassVar[Mapping[str, str]] = SCORES
    HEADLINE: ClassVar[tuple[str, ...]] = ("f1", "precision", "recall", "mean_iou", "count_error")
    UNIT: ClassVar[str] = "image"

    by_class: dict[str, tuple[int, int, float]] = field(default_factory=dict)

    def tables(self) -> list[Table]:
        """Return a table with the F1 of each class, if there are several."""
        if len(self.by_class) < 2:
            return []
        rows = [[name, f"{t:,}", f"{f:,}", "–" if np.isnan(v) else f"{v:.4f}"]
                for name, (t, f, v) in sorted(self.by_class.items(), key=lambda item: -item[1][0])]  # fmt: skip
        return [Table("Classes", ["class", "true boxes", "found", "F1 at IoU .5"], rows)]

    def details(self) -> dict[str, Any]:
        """Return the scores of each class."""
        classes = {name: {"true": t, "found": f, "f1": finite_or_none(v)} for name, (t, f, v) in self.by_class.items()}
        return {"by_class": classes}


def evaluate(
    result: Result | pl.DataFrame, truth: Any, *, fit_gold: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> BoxEvaluation:
    """Score a result, or a table with the columns task, boxes, against the true boxes.

    The arguments are those of `evaluation.evaluate.evaluate`; `fit_gold` are the tasks that were gold in the fit.
    """
    tasks, estimated = _boxes(result)
    names, truth_boxes = box_truth(truth)
    scored = scored_tasks(tasks, names, fit_gold, "boxes")
    a, b = align_classes(estimated.take(scored.estimate), truth_boxes.take(scored.truth))
    terms = _terms(a, b)
    return BoxEvaluation(
        n=len(scored),
        scores={name: float(function(terms.sum(axis=0)[None])[0]) for name, function in _SCORES.items()},
        intervals=bootstrap_intervals(terms, _SCORES, 0.95, np.random.default_rng(seed)) if resamples else {},
        by_class=_by_class(a, b),
        **scored.left_out,
    )


def _boxes(result: Result | pl.DataFrame) -> tuple[pl.Series, Boxes]:
    if isinstance(result, Result):
        estimate = result.estimate
        assert isinstance(estimate, BoxEstimate)
        return result.tasks, Boxes(estimate.n_boxes, estimate.corner, estimate.tag, estimate.tags)
    check_estimates(result, "boxes")
    names, boxes = box_truth(result.select("task", pl.col("boxes").fill_null("[]")))
    order = names.arg_sort()
    return names.gather(order), boxes.take(order.to_numpy())


# Columns of sums over images: estimated, true, matched at .5, matched at .75, IoU of those matched at .5, error in
# the number of boxes, right number of boxes, 1.
ESTIMATED, TRUE, HIT, HIT_75, IOU, OFF, RIGHT, ONE = range(8)


def _terms(a: Boxes, b: Boxes) -> F8:
    out = np.zeros((len(a), 8))
    out[:, ESTIMATED], out[:, TRUE], out[:, ONE] = a.size, b.size, 1
    out[:, OFF], out[:, RIGHT] = np.abs(a.size - b.size), a.size == b.size
    for threshold, column in ((0.5, HIT), (0.75, HIT_75)):
        group, _, _, overlap = match_lists(
            a.corner,
            b.corner,
            a.start[:-1],
            a.size,
            b.start[:-1],
            b.size,
            tag_a=a.tag,
            tag_b=b.tag,
            min_overlap=threshold,
        )
        out[:, column] = np.bincount(group, minlength=len(a))
        if threshold == 0.5:
            out[:, IOU] = np.bincount(group, weights=overlap, minlength=len(a))
    return out


def _f1(index: int) -> Callable[[F8], F8]:
    """Return 2 · matched / (estimated + true); 1 if there are no boxes."""

    def f1(sums: F8) -> F8:
        total = sums[:, ESTIMATED] + sums[:, TRUE]
        return np.where(total > 0, 2 * sums[:, index] / np.maximum(total, 1e-300), 1.0)

    return f1


_SCORES: dict[str, Callable[[F8], F8]] = {
    "precision": ratio_of_sums(HIT, ESTIMATED),
    "recall": ratio_of_sums(HIT, TRUE),
    "f1": _f1(HIT),
    "precision_75": ratio_of_sums(HIT_75, ESTIMATED),
    "recall_75": ratio_of_sums(HIT_75, TRUE),
    "f1_75": _f1(HIT_75),
    "mean_iou": ratio_of_sums(IOU, HIT),
    "count_error": ratio_of_sums(OFF, ONE),
    "exact_count": ratio_of_sums(RIGHT, ONE),
}


def _by_class(a: Boxes, b: Boxes) -> dict[str, tuple[int, int, float]]:
    _, _, hit, _ = match_lists(
        a.corner, b.corner, a.start[:-1], a.size, b.start[:-1], b.size, tag_a=a.tag, tag_b=b.tag, min_overlap=0.5
    )
    names = b.tags.to_list()
    n_true, n_found, hits = (np.bincount(tag, minlength=len(names)) for tag in (b.tag, a.tag, b.tag[hit]))
    return {
        name: (int(t), int(f), 2 * float(h) / (t + f) if t + f else float("nan"))
        for name, t, f, h in zip(names, n_true, n_found, hits, strict=True)
    }


# ----------------------------------------------------------------
# Facts and summaries for display.

Row = list[str]
# Boxes with at most this support are reported as uncertain.
UNCERTAIN = 2 / 3


def describe(votes: Votes[Boxes]) -> dict[str, Any]:
    """Return the number of boxes per answer, the classes and the typical size of a box."""
    boxes = votes.answers
    wide = boxes.corner[:, 2:] - boxes.corner[:, :2]
    count = np.bincount(boxes.tag, minlength=len(boxes.tags)).tolist()
    return {
        **common(votes),
        "boxes": len(boxes.corner),
        "boxes_per_answer": float(boxes.size.mean()) if len(boxes) else None,
        "answers_without_boxes": int((boxes.size == 0).sum()),
        "class_counts": dict(zip(boxes.tags.to_list(), count, strict=True)),
        "median_width": float(np.median(wide[:, 0])) if len(wide) else None,
        "median_height": float(np.median(wide[:, 1])) if len(wide) else None,
    }


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:
    """Return rows for the table of sizes, further tables, and advice."""
    mean = facts["boxes_per_answer"]
    rows = [
        ["boxes", f"{facts['boxes']:,}"],
        ["boxes per answer", "–" if mean is None else f"{mean:.2f}"],
        ["answers without boxes", f"{facts['answers_without_boxes']:,}"],
        ["images with several answers", f"{facts['tasks_with_several_labels']:,}"],
    ]
    if facts["median_width"] is not None:
        rows.append(["median box", f"{facts['median_width']:.4g} × {facts['median_height']:.4g}"])
    tables = []
    if list(facts["class_counts"]) != [""]:
        counts = sorted(facts["class_counts"].items(), key=lambda item: -item[1])
        class_rows = [[str(name) or "(no class)", f"{n:,}"] for name, n in counts[:limit]]
        tables.append(Table("Classes", ["class", "boxes"], class_rows))
    advice = []
    if not facts["boxes"]:
        advice.append("the file has no boxes; is it the right column?")
    width = facts["median_width"]
    if width is not None and width <= 1.5 and facts["boxes"]:
        advice.append("coordinates look like shares of the image size; make sure that all boxes use them")
    return rows, tables, advice


def sentences(votes: Votes[Boxes], result: Result) -> list[str]:
    """Return the number of boxes and how many of them are uncertain."""
    estimate = result.estimate
    assert isinstance(estimate, BoxEstimate)
    n = int(estimate.n_boxes.sum())
    empty = int((estimate.n_boxes == 0).sum())
    line = f"{n:,} boxes on {len(estimate):,} images, {empty:,} of them without boxes"
    if n:
        uncertain = int((estimate.support <= UNCERTAIN).sum())
        line += f"; {uncertain:,} boxes were drawn by at most two thirds of the image's workers" if uncertain else ""
    out = [line]
    if not (votes.labels_per_task > 1).any():
        out.append("every image has a single answer, so all drawn boxes are kept")
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """Return a summary and a table of the least certain boxes."""
    estimate = result.estimate
    assert isinstance(estimate, BoxEstimate)
    table = estimate.box_table(result.tasks).sort("support", maintain_order=True).head(5)
    header = ["task", "x1", "y1", "x2", "y2", "class", "drawn by"]
    rows = [[f"{c:.4g}" if isinstance(c, float) else str(c) for c in row[:-1]] + [f"{row[-1]:.0%}"]
            for row in table.iter_rows()]  # fmt: skip
    return estimate.summary(), [Table("Least certain boxes", header, rows)]
