"""Known spans of some tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from ...core.truth import place_gold, truth_table
from ...core.vocabulary import union
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...kinds.spans.coder import spans_of
from ...maths.spans.rows import SpanRows, starts
from .work import Known


def span_truth(truth: Any) -> tuple[pl.Series, Spans]:
    """Any way to write down truths as tasks and their spans."""
    table = truth_table(_texts(truth), ("spans",), like=("label",))
    found, _ = spans_of(table["spans"].to_list(), "the truth of task", table["task"].to_list())
    return table["task"], found


def span_gold(gold: Any, votes: Votes[Spans]) -> tuple[Votes[Spans], Known | None]:
    """The votes over the tags of both, and the known spans; tasks that nobody answered are left out with a warning."""
    if gold is None:
        return votes, None
    tasks, true = span_truth(gold)
    tags = union(votes.answers.tags, true.tags)
    if len(tags) > 1 and not len(votes.answers.rows.start):
        tags = true.tags
    votes = replace(votes, answers=votes.answers.with_tags(tags))
    true = true.with_tags(tags)
    at, placed = place_gold(pl.DataFrame({"task": tasks}), votes.tasks)
    from_row = np.full(votes.n_tasks, -1, dtype=np.int64)
    from_row[at[placed]] = np.flatnonzero(placed)
    mask = from_row >= 0
    part = true.rows.take(from_row[mask])
    count = np.zeros(votes.n_tasks, dtype=np.int64)
    count[mask] = np.diff(part.offsets)
    return votes, Known(SpanRows(starts(count), part.start, part.end, part.tag), mask)


def _texts(truth: Any) -> Any:
    """Lists of spans in a mapping as JSON: a table has one type a column."""
    import json
    from collections.abc import Mapping

    if not isinstance(truth, Mapping):
        return truth
    return {task: spans if isinstance(spans, str) else json.dumps(spans) for task, spans in truth.items()}
