"""Spans for people: what a fit comes to, what is in a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.spans.estimate import SpanEstimate
from ..outlook import outlook
from ..scored import Table

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
