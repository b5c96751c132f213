"""How good are boxes, given the truth: precision, recall and F1 at an overlap of .5 and .75, IoU, number of boxes."""

from __future__ import annotations

from collections.abc import Callable
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
from .answers import Boxes
from .estimate import BoxEstimate
from .fitting import box_truth
from .maths import match_lists

F8 = npt.NDArray[np.float64]
# The scores as people call them, in the order in which they read them.
SCORES = {
    "precision": "precision at IoU .5",
    "recall": "recall at IoU .5",
    "f1": "F1 at IoU .5",
    "precision_75": "precision at IoU .75",
    "recall_75": "recall at IoU .75",
    "f1_75": "F1 at IoU .75",
    "mean_iou": "mean IoU of matched boxes",
    "count_error": "boxes too many or too few a picture",
    "exact_count": "pictures with the right number of boxes",
}


@dataclass(frozen=True, repr=False)
class BoxEvaluation(Scored):
    """Scores over the pictures whose true boxes are known; boxes match one-to-one, class by class.

    `intervals` holds the 95 % interval of each score over pictures where resamples were asked for; `by_class` has
    (true boxes, found boxes, F1 at .5) of every class.
    """

    n: int
    scores: dict[str, float]
    by_class: dict[str, tuple[int, int, float]]
    truths_without_labels: int = 0
    n_gold_left_out: int = 0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> float:
        """f1, precision, recall, f1_75, mean_iou, count_error, ..."""
        if name in SCORES:
            return self.scores[name]
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"BoxEvaluation({self.n:,} pictures: F1 {self.f1:.3f}, mean IoU {self.mean_iou:.3f})"

    def rows(self) -> list[list[str]]:
        """Name, value and interval."""
        out = []
        for key, name in SCORES.items():
            ends = self.intervals.get(key)
            value = self.scores[key]
            shown = "–" if np.isnan(value) else f"{value:.4f}"
            out.append([name, shown, "–" if ends is None else f"{ends[0]:.4f} – {ends[1]:.4f}"])
        return out

    def tables(self) -> list[Table]:
        """F1 of each class, where there are several."""
        if len(self.by_class) < 2:
            return []
        rows = [[name, f"{t:,}", f"{f:,}", "–" if np.isnan(v) else f"{v:.4f}"]
                for name, (t, f, v) in sorted(self.by_class.items(), key=lambda item: -item[1][0])]  # fmt: skip
        return [Table("Classes", ["class", "true boxes", "found", "F1 at IoU .5"], rows)]

    def headline(self) -> dict[str, float]:
        """F1 at .5 ranks."""
        return {name: self.scores[name] for name in ("f1", "precision", "recall", "mean_iou", "count_error")}

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        scores = {
            name: {"value": None if np.isnan(value) else value, **self._ends(name)}
            for name, value in self.scores.items()
        }
        classes = {
            name: {"true": t, "found": f, "f1": None if np.isnan(v) else v} for name, (t, f, v) in self.by_class.items()
        }
        rest = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        return {"n": self.n, **scores, "by_class": classes, **rest}

    def _ends(self, name: str) -> dict[str, float]:
        ends = self.intervals.get(name)
        return {} if ends is None else {"low": ends[0], "high": ends[1]}


def evaluate(
    found: Result | pl.DataFrame, truth: Any, *, told: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> BoxEvaluation:
    """Score a Result, or a table task, boxes, against the true boxes."""
    tasks, mine = _boxes(found)
    names, theirs = box_truth(truth)
    at, known = lookup(tasks, names)
    if not known.any():
        raise DataError("none of the tasks in the truth has boxes here; do the task ids match?")
    gone = known & among(names, told)
    fair = np.flatnonzero(known & ~gone)
    if not len(fair):
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    a, b = _alike(mine.take(at[fair]), theirs.take(fair))
    terms = _terms(a, b)
    scores = {name: float(function(terms.sum(axis=0)[None])[0]) for name, function in _SCORES.items()}
    intervals: dict[str, tuple[float, float]] = {}
    if resamples:
        rng = np.random.default_rng(seed)
        for name, function in _SCORES.items():
            ends = bootstrap_interval(terms, function, 0.95, rng)
            if ends is not None:
                intervals[name] = ends
    return BoxEvaluation(
        len(fair), scores, _by_class(a, b), int((~known).sum()), int(gone.sum()), intervals
    )  # fmt: skip


def _boxes(found: Result | pl.DataFrame) -> tuple[pl.Series, Boxes]:
    if isinstance(found, Result):
        own = found.estimate
        assert isinstance(own, BoxEstimate)
        return found.tasks, Boxes(own.n_boxes, own.corner, own.tag, own.tags)
    for name in ("task", "boxes"):
        if name not in found.columns:
            raise DataError(f"the table has no column {name!r}; it has {', '.join(found.columns)}")
    if found["task"].is_duplicated().any():
        raise DataError(f"task {found['task'].filter(found['task'].is_duplicated())[0]!r} stands in two rows")
    names, boxes = box_truth(found.select("task", pl.col("boxes").fill_null("[]")))
    order = names.arg_sort()
    return names.gather(order), boxes.take(order.to_numpy())


def _alike(a: Boxes, b: Boxes) -> tuple[Boxes, Boxes]:
    """Both with codes of one list of classes; where one side has none, classes do not count."""
    if len(a.corner) and len(b.corner) and (a.tags.to_list() == [""]) != (b.tags.to_list() == [""]):
        none = pl.Series("tag", [""])
        return (Boxes(each.size, each.corner, np.zeros_like(each.tag), none) for each in (a, b))  # type: ignore[return-value]
    both, n = a.join(b), len(a)
    return both.take(np.arange(n)), both.take(np.arange(n, len(both)))


# Sums over pictures: found, true, matched at .5, matched at .75, IoU of matched at .5, |found - true|, right number, 1.
FOUND, TRUE, HIT, HIT_75, IOU, OFF, RIGHT, ONE = range(8)


def _terms(a: Boxes, b: Boxes) -> F8:
    out = np.zeros((len(a), 8))
    out[:, FOUND], out[:, TRUE], out[:, ONE] = a.size, b.size, 1
    out[:, OFF], out[:, RIGHT] = np.abs(a.size - b.size), a.size == b.size
    for least, column in ((0.5, HIT), (0.75, HIT_75)):
        group, _, _, overlap = match_lists(
            a.corner, b.corner, a.start[:-1], a.size, b.start[:-1], b.size, tag_a=a.tag, tag_b=b.tag, least=least
        )
        out[:, column] = np.bincount(group, minlength=len(a))
        if least == 0.5:
            out[:, IOU] = np.bincount(group, weights=overlap, minlength=len(a))
    return out


def _ratio(top: Callable[[F8], F8], bottom: Callable[[F8], F8]) -> Callable[[F8], F8]:
    def value(sums: F8) -> F8:
        over, under = top(sums), bottom(sums)
        return np.asarray(np.divide(over, under, out=np.full(len(sums), np.nan), where=under > 0))

    return value


def _column(index: int) -> Callable[[F8], F8]:
    return lambda sums: np.asarray(sums[:, index])


def _f1(index: int) -> Callable[[F8], F8]:
    """2 × matched / (found + true); 1 where there is nothing to find and nothing was found."""
    return lambda sums: np.where(
        sums[:, FOUND] + sums[:, TRUE] > 0, 2 * sums[:, index] / np.maximum(sums[:, FOUND] + sums[:, TRUE], 1e-300), 1.0
    )


_SCORES: dict[str, Callable[[F8], F8]] = {
    "precision": _ratio(_column(HIT), _column(FOUND)),
    "recall": _ratio(_column(HIT), _column(TRUE)),
    "f1": _f1(HIT),
    "precision_75": _ratio(_column(HIT_75), _column(FOUND)),
    "recall_75": _ratio(_column(HIT_75), _column(TRUE)),
    "f1_75": _f1(HIT_75),
    "mean_iou": _ratio(_column(IOU), _column(HIT)),
    "count_error": _ratio(_column(OFF), _column(ONE)),
    "exact_count": _ratio(_column(RIGHT), _column(ONE)),
}


def _by_class(a: Boxes, b: Boxes) -> dict[str, tuple[int, int, float]]:
    _, _, hit, _ = match_lists(
        a.corner, b.corner, a.start[:-1], a.size, b.start[:-1], b.size, tag_a=a.tag, tag_b=b.tag, least=0.5
    )
    names = b.tags.to_list()
    true, found, hits = (np.bincount(tag, minlength=len(names)) for tag in (b.tag, a.tag, b.tag[hit]))
    return {
        name: (int(t), int(f), 2 * float(h) / (t + f) if t + f else float("nan"))
        for name, t, f, h in zip(names, true, found, hits, strict=True)
    }


# ----------------------------------------------------------------
# Boxes for people: what a file holds, what a fit comes to, what a saved result shows.

Row = list[str]
# A box that no more than this share of the lookers drew is worth another look.
CLOSE = 2 / 3


def describe(votes: Votes[Boxes]) -> dict[str, Any]:
    """Sizes, boxes an answer, classes, and how large boxes are."""
    own = votes.answers
    wide = own.corner[:, 2:] - own.corner[:, :2]
    count = np.bincount(own.tag, minlength=len(own.tags)).tolist()
    return {
        **common(votes),
        "boxes": len(own.corner),
        "boxes_per_answer": float(own.size.mean()) if len(own) else None,
        "answers_without_boxes": int((own.size == 0).sum()),
        "class_counts": dict(zip(own.tags.to_list(), count, strict=True)),
        "median_width": float(np.median(wide[:, 0])) if len(wide) else None,
        "median_height": float(np.median(wide[:, 1])) if len(wide) else None,
    }


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:
    """Rows for the table of sizes, tables, and advice."""
    mean = facts["boxes_per_answer"]
    rows = [
        ["boxes", f"{facts['boxes']:,}"],
        ["boxes an answer", "–" if mean is None else f"{mean:.2f}"],
        ["answers without boxes", f"{facts['answers_without_boxes']:,}"],
        ["pictures that several looked at", f"{facts['tasks_with_several_labels']:,}"],
    ]
    if facts["median_width"] is not None:
        rows.append(["usual box", f"{facts['median_width']:.4g} × {facts['median_height']:.4g}"])
    tables = []
    if list(facts["class_counts"]) != [""]:
        counts = sorted(facts["class_counts"].items(), key=lambda item: -item[1])
        said = [[str(name) or "(no class)", f"{n:,}"] for name, n in counts[:limit]]
        tables.append(Table("Classes", ["class", "boxes"], said))
    advice = []
    if not facts["boxes"]:
        advice.append("nobody drew a box: is it the right column?")
    width = facts["median_width"]
    if width is not None and width <= 1.5 and facts["boxes"]:
        advice.append("boxes are as small as shares of the picture; that is fine as long as all of them are")
    return rows, tables, advice


def sentences(votes: Votes[Boxes], result: Result) -> list[str]:
    """How many boxes there are, how sure they are, and how many that were drawn are left out."""
    own = result.estimate
    assert isinstance(own, BoxEstimate)
    n = int(own.n_boxes.sum())
    empty = int((own.n_boxes == 0).sum())
    line = f"{n:,} boxes on {len(own):,} pictures, {empty:,} of them without any"
    if n:
        close = int((own.support <= CLOSE).sum())
        line += f"; {close:,} boxes were drawn by no more than two in three of those who looked" if close else ""
    out = [line]
    if not (votes.labels_per_task > 1).any():
        out.append("no picture was looked at twice, so every box that was drawn stays")
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """The boxes in all; the least certain ones."""
    own = result.estimate
    assert isinstance(own, BoxEstimate)
    table = own.box_table(result.tasks).sort("support", maintain_order=True).head(5)
    header = ["task", "x1", "y1", "x2", "y2", "class", "drawn by"]
    rows = [[f"{c:.4g}" if isinstance(c, float) else str(c) for c in row[:-1]] + [f"{row[-1]:.0%}"]
            for row in table.iter_rows()]  # fmt: skip
    return own.summary(), [Table("Least certain boxes", header, rows)]
