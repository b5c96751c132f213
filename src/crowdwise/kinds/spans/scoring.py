"""How good are spans, given the truth: F1 of the text they mark, of whole spans, of spans that overlap, by tag."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup, union
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scored, Table
from ...evaluation.statement import outlook
from ...stats.bootstrap import central, times_drawn
from .answers import Spans, spans_of
from .estimate import SpanEstimate
from .fitting import span_truth
from .maths import F8, SpanRows, counts, ratios

# The scores as people call them, in the order in which they read them.
SCORES = {
    "f1": "F1 of the text marked",
    "precision": "precision of the text marked",
    "recall": "recall of the text marked",
    "exact_f1": "F1 of whole spans",
    "exact_precision": "precision of whole spans",
    "exact_recall": "recall of whole spans",
    "overlap_f1": "F1 of spans that overlap",
    "mean_f1": "mean F1 of a task's text",
}
_BLOCK = 200


@dataclass(frozen=True, repr=False)
class SpanEvaluation(Scored):
    """Scores over the tasks whose truth is known, all tasks pooled (but mean_f1, the mean over tasks).

    Text is counted in the units of the file, characters or tokens; a place counts as right with the right tag only.
    `overlap_f1` takes a span for found where it overlaps a true one of its tag. `intervals` holds the 95 % interval of
    each score; `by_tag` the first and the fourth score of every tag.
    """

    n: int
    scores: dict[str, float]
    by_tag: dict[str, dict[str, float]]
    truths_without_labels: int = 0
    n_gold_left_out: int = 0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> float:
        """The score of this name: f1, precision, recall, exact_f1, overlap_f1, ..."""
        if name in SCORES:
            return self.scores[name]
        raise AttributeError(name)

    def __repr__(self) -> str:
        some = "; ".join(f"{SCORES[key]} {self.scores[key]:.3f}" for key in ("f1", "exact_f1", "overlap_f1"))
        return f"SpanEvaluation({self.n:,} task{'s' * (self.n != 1)}: {some})"

    def headline(self) -> dict[str, float]:
        """F1 of the text and of whole spans."""
        return {key: self.scores[key] for key in ("f1", "exact_f1")}

    def rows(self) -> list[list[str]]:
        """Name, value and 95 % interval of every score, for people."""
        out = []
        for key, name in SCORES.items():
            between = self.intervals.get(key)
            shown = "–" if between is None else f"{between[0]:.4f} – {between[1]:.4f}"
            out.append([name, f"{self.scores[key]:.4f}", shown])
        return out

    def tables(self) -> list[Table]:
        """The scores of every tag, where there are several."""
        if len(self.by_tag) < 2:
            return []
        rows = [
            [tag or "(no tag)", f"{each['f1']:.4f}", f"{each['exact_f1']:.4f}", f"{each['true_spans']:,.0f}"]
            for tag, each in self.by_tag.items()
        ]
        return [Table("Tags", ["tag", "F1 of the text", "F1 of whole spans", "true spans"], rows)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        scores = {
            key: {"value": value, "low": self.intervals.get(key, (None, None))[0],
                  "high": self.intervals.get(key, (None, None))[1]}
            for key, value in self.scores.items()
        }  # fmt: skip
        rest = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        return {"n": self.n, **scores, "by_tag": self.by_tag, **rest}


def evaluate(
    found: Result | pl.DataFrame, truth: Any, *, told: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> SpanEvaluation:
    """Score a Result, or a table task, spans, against the truth."""
    tasks, said = _said(found)
    names, true = span_truth(truth)
    at, known = lookup(tasks, names)
    if not known.any():
        raise DataError("none of the tasks in the truth has spans here; do the task ids match?")
    gone = known & among(names, told)
    fair = np.flatnonzero(known & ~gone)
    if not len(fair):
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    tags = union(said.tags.cast(pl.String), true.tags.cast(pl.String))
    mine = said.with_tags(tags).rows.take(at[fair].astype(np.int64))
    theirs = true.with_tags(tags).rows.take(fair)
    table = counts(mine, theirs)
    scores = {key: float(value) for key, value in ratios(table.sum(axis=0)).items()}
    scores["mean_f1"] = float(ratios(table)["f1"].mean())
    return SpanEvaluation(
        n=len(fair),
        scores=scores,
        by_tag=_by_tag(mine, theirs, tags),
        truths_without_labels=int((~known).sum()),
        n_gold_left_out=int(gone.sum()),
        intervals=_intervals(table, resamples, seed) if resamples else {},
    )


def _by_tag(mine: SpanRows, theirs: SpanRows, tags: pl.Series) -> dict[str, dict[str, float]]:
    out = {}
    for t, name in enumerate(tags.to_list()):
        total = counts(mine.only(t), theirs.only(t)).sum(axis=0)
        if total.any():
            found = ratios(total)
            out[str(name)] = {key: float(found[key]) for key in ("f1", "precision", "recall", "exact_f1", "overlap_f1")}
            out[str(name)]["true_spans"] = float(total[5])
    return out


def _intervals(table: F8, resamples: int, seed: int) -> dict[str, tuple[float, float]]:
    """95 % intervals by drawing tasks again and again."""
    rng = np.random.default_rng(seed)
    n = len(table)
    own = ratios(table)["f1"]
    drawn: dict[str, list[F8]] = {}
    for lo in range(0, resamples, _BLOCK):
        times = times_drawn(min(_BLOCK, resamples - lo), n, rng)
        for key, value in {**ratios(times @ table), "mean_f1": times @ own / n}.items():
            drawn.setdefault(key, []).append(value)
    return {key: central(np.concatenate(values), n, 0.95) for key, values in drawn.items()}


def _said(found: Result | pl.DataFrame) -> tuple[pl.Series, Spans]:
    if isinstance(found, Result):
        estimate = found.estimate
        assert isinstance(estimate, SpanEstimate)
        return found.tasks, Spans(estimate.rows, estimate.tags.cast(pl.String))
    name = "spans" if "spans" in found.columns else "label"
    for needed in ("task", name):
        if needed not in found.columns:
            raise DataError(f"the spans have no column {needed!r}; they have {', '.join(found.columns)}")
    if found["task"].is_duplicated().any():
        raise DataError(f"task {found['task'].filter(found['task'].is_duplicated())[0]!r} has two lists of spans")
    return found["task"], spans_of(found[name].to_list(), "task", found["task"].to_list())[0]


def said(votes: Any, result: Result) -> Spans:  # noqa: ARG001
    """The estimates as one answer a task."""
    return _said(result)[1]


def known(votes: Any, gold: Any) -> tuple[Any, Spans]:
    """Codes of the known tasks, and their spans."""
    names, true = span_truth(gold)
    at, there = lookup(votes.tasks, names)
    return at[there], true.take(np.flatnonzero(there))


# ----------------------------------------------------------------
# Spans for people: what a fit comes to, what is in a file.

Row = list[str]
# Below this a task deserves another look.
DOUBTFUL = 0.75


def sentences(votes: Votes[Any], result: Result) -> list[str]:  # noqa: ARG001
    """How many spans were found, and how many tasks are in doubt."""
    estimate = result.estimate
    assert isinstance(estimate, SpanEstimate)
    heard = result.labels_per_task > 0
    doubt = int((estimate.confidence[heard] < DOUBTFUL).sum())
    empty = int((estimate.n_spans[heard] == 0).sum())
    out = f"{int(estimate.n_spans.sum()):,} spans; {empty:,} of {int(heard.sum()):,} tasks have none"
    return [f"{out}; on {doubt:,} tasks the workers differ so much that another look is worth it"]


def _figure(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def show(result: Result) -> tuple[str, list[Table]]:
    """Tags, and the tasks that are least sure."""
    estimate = result.estimate
    assert isinstance(estimate, SpanEstimate)
    table = result.to_table().sort("confidence").head(5)
    rows = [[str(t), s if len(s) <= 60 else f"{s[:59]}…", f"{c:.3f}", str(n)] for t, s, c, n in table.iter_rows()]
    tags = [[tag or "(no tag)", f"{n:,}"] for tag, n in estimate.facts()["tags"].items()]
    return outlook(result), [
        Table("Tags", ["tag", "spans"], tags[:30]),
        Table("Least certain tasks", ["task", "spans", "confidence", "answers"], rows),
    ]


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:
    """Rows for the table of sizes, tables, and advice."""
    length = facts["span_length"]
    rows = [
        ["spans", f"{facts['spans']:,} ({facts['spans_per_answer']:.2f} an answer)"],
        ["length of a span", f"{length['min']:,} to {length['max']:,}, median {length['median']:g}"],
        ["answers that mark nothing", f"{facts['answers_that_mark_nothing']:,}"],
        ["tasks whose text is known", f"{facts['tasks_with_text']:,}"],
        ["tasks with several answers", f"{facts['tasks_with_several_labels']:,}"],
    ]
    counts = sorted(facts["tag_counts"].items(), key=lambda item: -item[1])
    said = [[tag or "(no tag)", f"{n:,}", f"{n / max(facts['spans'], 1):.1%}"] for tag, n in counts[:limit]]
    advice = []
    if not facts["tasks_with_text"]:
        advice.append("the texts are not known: --about-tasks FILE (task, text) shows spans in their text")
    if facts["answers_with_overlapping_tags"]:
        n = facts["answers_with_overlapping_tags"]
        advice.append(f"in {n:,} answers spans of different tags overlap: every tag is judged by itself")
    return rows, [Table("Tags", ["tag", "spans", "share"], said)], advice
