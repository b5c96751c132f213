"""crowdkit.metrics.workers: accuracy against aggregated labels."""

from __future__ import annotations

from typing import Any

from ..aggregation.base import MissingError
from ..aggregation.majority_vote import MajorityVote
from ..aggregation.utils import get_accuracy

__all__ = ["accuracy_on_aggregates"]
_MAJORITY = MajorityVote()


def accuracy_on_aggregates(
    answers: Any, aggregator: Any = _MAJORITY, aggregates: Any = None, by: str | None = None
) -> Any:
    """Return the share of labels that equal the aggregated ones (`aggregates`, a Series by task, or the labels of
    `aggregator`).

    The share is that of all labels, or, as a Series, `by` "worker", "task", "label" or "true_label". Tasks without an
    aggregate are left out.

    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
    >>> round(accuracy_on_aggregates(votes), 3)
    0.667
    """
    if aggregates is None and aggregator is None:
        raise MissingError("One of aggregator or aggregates should be not None")
    if aggregates is None:
        aggregates = aggregator.fit_predict(answers)
    return get_accuracy(answers, aggregates, by)
