"""Truth serum: the answer with the highest information score, log share less mean log prediction.

    score_k = log x_k - mean_r log y_r[k]

The log-score cousin of `surprisingly_popular`: geometric means weigh a confident prediction more, and rare answers that
hardly anybody expected gain most. Workers are scored by how informative their answers were and how well they predicted.
Prelec (2004), A Bayesian truth serum for subjective data, doi:10.1126/science.1102081. Fails as its cousin does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Positive
from ...kinds.classes.annotations import Annotations
from ...maths.judges.popular import LEAST, log_scores, mean_by_task
from ...maths.logspace import normalise_rows, shares
from .base import PredictionAggregator

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class TruthSerum(PredictionAggregator):
    """A column predicted_share (of two classes) or predicted_share_<class>; `sharpness` of the belief in a score.

    >>> import polars as pl
    >>> rows = {"task": [1] * 4, "worker": [*"abcd"], "label": [*"yyyn"], "predicted_share": [0.9, 0.9, 0.9, 0.8]}
    >>> TruthSerum().fit(Annotations.from_frame(pl.DataFrame(rows))).to_table()["label"].to_list()
    ['n']
    """

    name: ClassVar[str] = "truth_serum"
    sharpness: Positive = 2.0

    def judge(self, annotations: Annotations, prediction: F8) -> F8:
        """Information scores, as probabilities."""
        weight, n = self.weights(annotations), annotations.votes.sum(axis=1)
        expected = mean_by_task(np.log(np.maximum(prediction, LEAST)), weight, annotations.task_offsets)
        score = log_scores(shares(annotations.votes), expected, n)
        return normalise_rows(np.where(np.isfinite(score), self.sharpness * score, 0.0))[0]
