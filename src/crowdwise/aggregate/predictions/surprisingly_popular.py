"""Surprisingly popular: the answer that is given more often than people expect it to be.

    two classes: k wins where the share of k exceeds its mean predicted share
    several: prediction-normalised votes  V_k = x_k Σ_i y_k[i] / y_i[k]

Who knows the truth also knows that others do not, so the truth is more popular than predicted, even where the majority
is wrong. The posterior of two classes is the normal probability that the crowd's share exceeds the expected one, at a
`temperature`. Prelec, Seung & McCoy (2017), doi:10.1038/nature21054. Fails where nobody knows, or predictions are
noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Positive
from ...kinds.classes.annotations import Annotations
from ...maths.judges.popular import mean_by_task, normalised_votes, surprise
from ...maths.logspace import normalise_rows, shares
from .base import PredictionAggregator

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SurprisinglyPopular(PredictionAggregator):
    """A column predicted_share (of two classes) or predicted_share_<class>; `temperature` softens the belief.

    >>> import polars as pl
    >>> rows = {"task": [1] * 4, "worker": [*"abcd"], "label": [*"yyyn"], "predicted_share": [0.9, 0.9, 0.9, 0.8]}
    >>> SurprisinglyPopular().fit(Annotations.from_frame(pl.DataFrame(rows))).to_table()["label"].to_list()
    ['n']
    """

    name: ClassVar[str] = "surprisingly_popular"
    temperature: Positive = 3.0

    def judge(self, annotations: Annotations, prediction: F8) -> F8:
        """The surprise of each class, as probabilities."""
        weight, n = self.weights(annotations), annotations.votes.sum(axis=1)
        said, expected = shares(annotations.votes), mean_by_task(prediction, weight, annotations.task_offsets)
        expected = np.where(np.isfinite(expected), expected, 1 / annotations.n_classes)
        if annotations.n_classes > 2:
            task, label = annotations.task.astype(np.int64), annotations.label.astype(np.int64)
            return normalised_votes(task, label, prediction, weight, annotations.n_tasks)
        more, error = surprise(said, expected, n)
        # The logistic curve at 1.7 times the argument is the normal one to a hundredth.
        return normalise_rows(np.where(n[:, None] > 0, 0.85 * more / error, 0.0) / self.temperature)[0]
