"""What is in a set of votes of spans, and how far two answers are apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.side_tables import column_by
from ...core.votes import Votes
from ...maths.spans.rows import apart, nested, totals
from ..describe import common
from .answers import Spans


def describe(votes: Votes[Spans]) -> dict[str, Any]:
    """Of spans also: how many, how long, of which tags, and whether the texts are known."""
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
        "answers_that_mark_nothing": int((totals(rows) == 0).sum()),
        "answers_with_overlapping_tags": int(nested(rows).sum()),
        "tag_counts": dict(zip(tags.cast(pl.String).to_list(), count, strict=True)),
        "tasks_with_text": 0 if text is None else int(text.is_not_null().sum()),
    }


def distance(answers: Spans, i: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """1 - F1 of what two answers mark with the same tag; 0 where both mark nothing."""
    return apart(answers.rows, np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64))
