"""crowd-kit's KOS: message passing between tasks and workers, for two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ....core.arrays import F8
from .base import BaseClassificationAggregator, InputError
from .table import CodedFrame, read

# Messages grow without bound; crowd-kit stops before they overflow.
LIMIT = 1e300


@dataclass(eq=False)
class KOS(BaseClassificationAggregator):
    """`n_iter` rounds of message passing from messages N(1, 1) drawn with `random_state`.

    The draws are those of crowd-kit, but numpy's global generator is not changed. A task whose votes cancel out, where
    crowd-kit fails with KeyError: 0, gets the label that appears first in the data. As in crowd-kit, there are no
    probabilities.

    >>> votes = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abab"], "label": [*"xxyy"]})
    >>> KOS(10).fit(votes).labels_.name
    'agg_label'
    """

    n_iter: int = 100
    random_state: int = 0

    def fit(self, data: Any) -> KOS:
        """Fit to `data` with task, worker and two distinct labels."""
        table = read(data)
        if not len(table.votes):
            self.labels_ = pd.Series([], dtype="O", name="agg_label")
            return self
        if len(table.classes) != 2:
            raise InputError("KOS aggregation method is for binary classification only.")
        plus, minus = table.first["label"]
        score = self._scores(table, np.where(table.votes.label == plus, 1.0, -1.0))
        self.labels_ = table.labels(np.where(score < 0, minus, plus))
        return self

    def _scores(self, table: CodedFrame, sign: F8) -> F8:
        votes = table.votes
        y = np.random.RandomState(self.random_state).normal(loc=1, scale=1, size=len(sign))[table.row]

        def total(codes: Any, rows: F8, n: int) -> F8:
            return np.bincount(codes, weights=rows, minlength=n).astype(np.float64, copy=False)

        for _ in range(self.n_iter):
            from_workers = sign * y
            by_task = total(votes.task, from_workers, votes.n_tasks)[votes.task]
            if (np.abs(by_task) > LIMIT).any():
                break
            from_tasks = sign * (by_task - from_workers)
            by_worker = total(votes.worker, from_tasks, votes.n_workers)[votes.worker]
            if (np.abs(by_worker) > LIMIT).any():
                break
            y = by_worker - from_tasks
        return total(votes.task, sign * y, votes.n_tasks)
