"""Scores of spans against the truth: F1 of the marked text, of whole spans and of overlapping spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.describe import common
from ...core.result import Result
from ...core.side_tables import column_by
from ...core.vocabulary import union
from ...core.votes import Votes
from ...evaluation.evaluate import check_estimates, scored_tasks
from ...evaluation.scores import Scores, Table
from ...evaluation.statement import outlook
from ...stats.bootstrap import resampled_intervals
from .answers import Spans, spans_of
from .estimate import SpanEstimate
from .fitting import span_truth
from .maths import SpanRows, counts, has_overlapping_tags, marked_lengths, ratios

# Displayed names of the scores, in the order of display.
SCORES = {
    "f1": "F1 of the marked text",
    "precision": "precision of the marked text",
    "recall": "recall of the marked text",
    "exact_f1": "F1 of whole spans",
    "exact_precision": "precision of whole spans",
    "exact_recall": "recall of whole spans",
    "overlap_f1": "F1 of overlapping spans",
    "mean_f1": "mean F1 of the marked text per task",
}


@dataclass(frozen=True, repr=False, kw_only=True)
class SpanEvaluation(Scores):
    """Scores over the tasks whose true spans are known, pooled over tasks except for mean_f1.

    Text is measured in the units of the file, characters or tokens, and counts as correct only with the right tag. For
    `overlap_f1` a span counts as found if it overlaps a true span with its tag.

    Attributes:
        by_tag: Scores of each tag: f1, precision, recall, exact_f1, overlap_f1 and the number of true spans.
    """

    NAMES: ClassVar[Mapping[str, str]] = SCORES
    HEADLINE: ClassVar[tuple[str, ...]] = ("f1", "exact_f1")
    MISSING_INTERVAL: ClassVar[Mapping[str, None]] = {"low": None, "high": None}

    by_tag: dict[str, dict[str, float]]

    def tables(self) -> list[Table]:
        """Return a table with the scores of each tag, if there are several."""
        if len(self.by_tag) < 2:
            return []
        rows = [
            [tag or "(no tag)", f"{scores['f1']:.4f}", f"{scores['exact_f1']:.4f}", f"{scores['true_spans']:,.0f}"]
            for tag, scores in self.by_tag.items()
        ]
        return [Table("Tags", ["tag", "F1 of the text", "F1 of whole spans", "true spans"], rows)]

    def details(self) -> dict[str, Any]:
        """Return the scores of each tag."""
        return {"by_tag": self.by_tag}


def evaluate(
    result: Result | pl.DataFrame, truth: Any, *, fit_gold: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> SpanEvaluation:
    """Score a result, or a table with the columns task, spans, against the true spans.

    The arguments are those of `evaluation.evaluate.evaluate`; `fit_gold` are the tasks that were gold in the fit.
    """
    tasks, spans = _spans_of(result)
    names, true_spans = span_truth(truth)
    scored = scored_tasks(tasks, names, fit_gold, "spans")
    tags = union(spans.tags.cast(pl.String), true_spans.tags.cast(pl.String))
    estimated = spans.with_tags(tags).rows.take(scored.estimate)
    expected = true_spans.with_tags(tags).rows.take(scored.truth)
    table = counts(estimated, expected)
    scores = {key: float(value) for key, value in ratios(table.sum(axis=0)).items()}
    scores["mean_f1"] = float(ratios(table)["f1"].mean())
    return SpanEvaluation(
        n=len(scored),
        scores=scores,
        by_tag=_by_tag(estimated, expected, tags),
        intervals=_intervals(table, resamples, seed) if resamples else {},
        **scored.left_out,
    )


def _by_tag(estimated: SpanRows, expected: SpanRows, tags: pl.Series) -> dict[str, dict[str, float]]:
    out = {}
    for t, name in enumerate(tags.to_list()):
        total = counts(estimated.only(t), expected.only(t)).sum(axis=0)
        if total.any():
            scores = ratios(total)
            out[str(name)] = {
                key: float(scores[key]) for key in ("f1", "precision", "recall", "exact_f1", "overlap_f1")
            }
            out[str(name)]["true_spans"] = float(total[5])
    return out


def _intervals(table: F8, resamples: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return 95 % bootstrap intervals over tasks."""
    n, task_f1 = len(table), ratios(table)["f1"]

    def scores(times: F8) -> dict[str, F8]:
        return {**ratios(times @ table), "mean_f1": times @ task_f1 / n}

    return resampled_intervals(n, resamples, seed, scores)


def _spans_of(result: Result | pl.DataFrame) -> tuple[pl.Series, Spans]:
    if isinstance(result, Result):
        estimate = result.estimate
        assert isinstance(estimate, SpanEstimate)
        return result.tasks, Spans(estimate.rows, estimate.tags.cast(pl.String))
    name = "spans" if "spans" in result.columns else "label"
    check_estimates(result, name)
    return result["task"], spans_of(result[name].to_list(), "task", result["task"].to_list())[0]


# ----------------------------------------------------------------
# Facts and summaries for display.

Row = list[str]
# Tasks with a lower confidence are reported as uncertain.
UNCERTAIN = 0.75


def describe(votes: Votes[Spans]) -> dict[str, Any]:
    """Return the number, lengths and tags of the spans, and the number of known texts."""
    rows, tags = votes.answers.rows, votes.answers.tags
    length = rows.end - rows.start
    text = column_by(votes.about_tasks, "text", votes.tasks)
    count = np.bincount(rows.tag, minlength=len(tags)).tolist()
    return {
        **common(votes),
        "spans": len(length),
        "spans_per_answer": len(length) / max(len(votes), 1),
        "span_length": {
            "min": int(length.min(initial=0)) if not len(length) else int(length.min()),
            "median": float(np.median(length)) if len(length) else 0.0,
            "max": int(length.max(initial=0)),
        },
        "answers_that_mark_nothing": int((marked_lengths(rows) == 0).sum()),
        "answers_with_overlapping_tags": int(has_overlapping_tags(rows).sum()),
        "tag_counts": dict(zip(tags.cast(pl.String).to_list(), count, strict=True)),
        "tasks_with_text": 0 if text is None else int(text.is_not_null().sum()),
    }


def sentences(votes: Votes[Any], result: Result) -> list[str]:  # noqa: ARG001
    """Return the number of spans and of uncertain tasks."""
    estimate = result.estimate
    assert isinstance(estimate, SpanEstimate)
    has_votes = result.labels_per_task > 0
    uncertain = int((estimate.confidence[has_votes] < UNCERTAIN).sum())
    empty = int((estimate.n_spans[has_votes] == 0).sum())
    out = f"{int(estimate.n_spans.sum()):,} spans; {empty:,} of {int(has_votes.sum()):,} tasks have none"
    return [f"{out}; on {uncertain:,} tasks the workers differ enough to justify a review"]


def _figure(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def show(result: Result) -> tuple[str, list[Table]]:
    """Return a summary, and tables of the tags and of the least certain tasks."""
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
    """Return rows for the table of sizes, further tables, and advice."""
    length = facts["span_length"]
    rows = [
        ["spans", f"{facts['spans']:,} ({facts['spans_per_answer']:.2f} per answer)"],
        ["length of a span", f"{length['min']:,} to {length['max']:,}, median {length['median']:g}"],
        ["answers without spans", f"{facts['answers_that_mark_nothing']:,}"],
        ["tasks with a known text", f"{facts['tasks_with_text']:,}"],
        ["tasks with several answers", f"{facts['tasks_with_several_labels']:,}"],
    ]
    counts = sorted(facts["tag_counts"].items(), key=lambda item: -item[1])
    tag_rows = [[tag or "(no tag)", f"{n:,}", f"{n / max(facts['spans'], 1):.1%}"] for tag, n in counts[:limit]]
    advice = []
    if not facts["tasks_with_text"]:
        advice.append("the texts are not known; pass --about-tasks FILE (task, text) to see spans in their text")
    if facts["answers_with_overlapping_tags"]:
        n = facts["answers_with_overlapping_tags"]
        advice.append(f"in {n:,} answers spans of different tags overlap; each tag is estimated separately")
    return rows, [Table("Tags", ["tag", "spans", "share"], tag_rows)], advice
