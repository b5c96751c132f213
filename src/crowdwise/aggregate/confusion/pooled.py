"""Pooled: one confusion matrix for the whole crowd, fitted by EM.

    y_iw | z_i = k ~ Cat(confusion[k])   for every worker w

Dawid & Skene (1979) with all workers taken for one. It learns which classes the crowd mixes up and nothing about
who does: right when workers have a handful of labels each, wrong as soon as they differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import NonNegative, Positive
from ..spread import Shape
from .base import ConfusionAggregator, ConfusionModel

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Pooled(ConfusionAggregator):
    """`smoothing` pseudo-counts in every cell of the one matrix, `prior_class` in every class (smoothing > 0).

    >>> from crowdwise import Annotations

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> Pooled().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "pooled"
    smoothing: Positive = 0.01
    prior_class: NonNegative = 0.0

    def model(self, shape: Shape) -> ConfusionModel:
        """One matrix, the same pseudo-count everywhere."""
        return _Pool(np.full((shape.n_classes,) * 2, float(self.smoothing)), self.prior_class)


class _Pool(ConfusionModel):
    def confusion(self, counts: F8) -> F8:
        total = counts.sum(axis=0) + self.prior
        return np.broadcast_to(total / total.sum(axis=0), counts.shape)

    def log_confusion_density(self, theta: F8) -> float:
        return float((self.prior * np.log(theta[0])).sum()) if len(theta) else 0.0
