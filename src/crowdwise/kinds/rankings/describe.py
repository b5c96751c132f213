"""What is in a set of rankings, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.votes import Votes
from ..describe import common
from .answers import Rankings
from .rows import rows_of


def describe(votes: Votes[Rankings]) -> dict[str, Any]:
    """Of rankings also: items, list lengths, how many are whole, ties, and how often workers come back."""
    rows, _ = rows_of(votes)
    size, listed = votes.answers.size, np.diff(rows.begin)
    level = votes.answers.level
    row = np.repeat(np.arange(len(votes)), size)
    tied = np.zeros(len(votes), dtype=bool)
    if len(row):
        same = (np.diff(row) == 0) & (np.diff(level) == 0)
        tied[row[1:][same]] = True
    return {
        **common(votes),
        "items": len(votes.answers.items),
        "items_per_task": {"min": int(listed.min(initial=0)), "max": int(listed.max(initial=0))},
        "items_per_ranking": {"min": int(size.min()) if len(size) else 0, "max": int(size.max(initial=0))},
        "whole_rankings": int((size == listed[votes.task]).sum()) if len(votes) else 0,
        "rankings_with_ties": int(tied.sum()),
        "workers_with_several_rankings": int((votes.labels_per_worker > 1).sum()),
    }
