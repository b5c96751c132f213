"""crowd-kit's BinaryRelevance: several labels at once, each class aggregated by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

from ....em.kernels import many_fits
from .base import BaseClassificationAggregator, MissingError
from .majority_vote import MajorityVote
from .table import CodedFrame, columns_of, read
from .utils import clone_aggregator


@dataclass(eq=False)
class BinaryRelevance(BaseClassificationAggregator):
    """Aggregate label sets: each class is aggregated separately by a copy of `base_aggregator` from labels 0 and 1.

    `aggregators_` holds the copies by class, `labels_` a list of classes for each task, which may be empty.

    >>> labels = [["x", "y"], ["x"], ["x", "z"]]
    >>> votes = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": labels})
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
        """Fit to `data` with task, worker and label, where a label is a list of classes."""
        rows = columns_of(data).reset_index(drop=True)
        self.aggregators_ = {}
        answers = rows["label"].tolist()
        if not any(len(answer) for answer in answers):
            self.labels_ = pd.Series(dtype=float, name="agg_label")
            return self
        at = np.repeat(np.arange(len(rows)), [len(answer) for answer in answers])
        answered = [class_ for answer in answers for class_ in answer]
        # Names are encoded once, not again for every class.
        rows = rows[["task", "worker"]].astype("category")
        code, classes = pd.factorize(pd.Series(answered, dtype=object), sort=True)
        yes = np.zeros((len(classes), len(rows)), dtype=np.int64)
        yes[code, at] = 1
        shared = self._shared(rows)
        with many_fits():
            results = [self._one(name, rows, yes[i], shared) for i, name in enumerate(classes)]
        tasks = results[0].index
        member = np.stack(
            [(labels if labels.index.equals(tasks) else labels.reindex(tasks)).to_numpy() for labels in results]
        )
        names = list(classes)
        chosen = [list(compress(names, row)) for row in member.T.tolist()]
        self.labels_ = pd.Series(chosen, index=pd.Index(list(tasks), name="task"), name="agg_label")
        return self

    def _shared(self, rows: Any) -> CodedFrame | None:
        """Return the rows as codes if they can be shared by all classes; else None."""
        if not hasattr(self.base_aggregator, "fit_table") or rows.isna().to_numpy().any():
            return None
        table = read(rows.assign(label=0))
        return table if len(table.votes) == len(rows) and table.has_unique_pairs else None

    def _one(self, name: Any, rows: Any, yes: Any, shared: CodedFrame | None) -> Any:
        """Fit one class, and return labels 0 and 1 by task."""
        aggregator = self.aggregators_[name] = clone_aggregator(self.base_aggregator)
        if shared is None or bool(yes.all()):
            return aggregator.fit_predict(rows.assign(label=yes))
        return aggregator.fit_table(shared.relabelled(yes)).labels_
