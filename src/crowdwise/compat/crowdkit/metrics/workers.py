"""crowdkit.metrics.workers: accuracy against aggregated labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..aggregation.base import InputError
from ..aggregation.majority_vote import MajorityVote
from ..aggregation.table import read

__all__ = ["accuracy_on_aggregates"]
_MAJORITY = MajorityVote()


def accuracy_on_aggregates(
    answers: Any, aggregator: Any = _MAJORITY, aggregates: Any = None, by: str | None = None
) -> Any:
    """Share of labels that equal the aggregated ones (`aggregates`, a Series by task, or what `aggregator` says): of
    all, or `by` "worker" (or "task") as a Series. Tasks without an aggregate are left out.

    >>> votes = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
    >>> round(accuracy_on_aggregates(votes), 3)
    0.667
    """
    if aggregates is None and aggregator is None:
        raise InputError("One of aggregator or aggregates should be not None")
    if aggregates is None:
        aggregates = aggregator.fit_predict(answers)
    table = read(answers)
    votes = table.votes
    truth = pd.Series(aggregates).dropna().reindex(table.tasks)
    known = truth.notna().to_numpy()[votes.task]
    right = (table.codes_of("label", truth)[votes.task] == votes.label)[known]
    if by is None:
        return float(right.mean()) if len(right) else float("nan")
    codes, index = {"worker": (votes.worker, table.workers), "task": (votes.task, table.tasks)}[by]
    n = np.bincount(codes[known], minlength=len(index))
    share = np.bincount(codes[known], weights=right, minlength=len(index)) / np.maximum(n, 1)
    return pd.Series(share[n > 0], index=index[n > 0])
