"""crowd-kit's BinaryRelevance: several labels at once, each class aggregated by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .base import BaseClassificationAggregator, MissingError
from .majority_vote import MajorityVote
from .table import columns_of
from .utils import clone_aggregator


@dataclass(eq=False)
class BinaryRelevance(BaseClassificationAggregator):
    """Every class is a question of its own, answered by a copy of `base_aggregator` (`aggregators_` by class) from
    labels 0 and 1; `labels_` holds a list of classes for each task, which may be empty.

    >>> said = [["x", "y"], ["x"], ["x", "z"]]
    >>> votes = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": said})
    >>> BinaryRelevance().fit_predict(votes).to_dict()
    {1: ['x']}
    """

    base_aggregator: Any = field(default_factory=MajorityVote)
    aggregators_: dict[Any, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.aggregators_ = {}
        if not isinstance(self.base_aggregator, BaseClassificationAggregator):
            raise MissingError(
                f"base_aggregator must be a classification aggregator, got {type(self.base_aggregator).__name__}"
            )

    def fit(self, data: Any) -> BinaryRelevance:
        """`data` with task, worker and label, where a label is a list of classes."""
        rows = columns_of(data).reset_index(drop=True)
        self.aggregators_ = {}
        answers = rows["label"].tolist()
        if not any(len(answer) for answer in answers):
            self.labels_ = pd.Series(dtype=float, name="agg_label")
            return self
        at = np.repeat(np.arange(len(rows)), [len(answer) for answer in answers])
        said = [each for answer in answers for each in answer]
        # Names are told apart once, not again for every class.
        rows = rows[["task", "worker"]].astype("category")
        code, classes = pd.factorize(pd.Series(said, dtype=object), sort=True)
        chosen: dict[Any, list[Any]] = {}
        for i, name in enumerate(classes):
            yes = np.zeros(len(rows), dtype=np.int64)
            yes[at[code == i]] = 1
            one = self.aggregators_[name] = clone_aggregator(self.base_aggregator)
            for task, label in one.fit_predict(rows.assign(label=yes)).items():
                chosen.setdefault(task, []).extend([name] if label else [])
        self.labels_ = pd.Series(list(chosen.values()), index=pd.Index(list(chosen), name="task"), name="agg_label")
        return self

    def fit_predict(self, data: Any) -> Any:
        """labels_ of the data."""
        return self.fit(data).labels_
