"""Confusion vector: one accuracy per worker and true class, errors uniform over the other classes, fitted by EM.

    P(y_iw = z_i | z_i = k) = p_wk,   every wrong label (1 - p_wk) / (K - 1)

Between one-coin and full matrices: it describes class-biased workers with K numbers each.
Fails where errors go to particular classes (cat for dog), which it spreads evenly.
Raykar et al. (2010), JMLR 11(43), is its binary case (sensitivity and specificity).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import NonNegative, Positive
from ..spread import Shape
from .base import ConfusionAggregator, ConfusionModel
from .one_coin import coin_density, coin_matrix

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ConfusionVector(ConfusionAggregator):
    """`smoothing` (> 0) counts each worker that many times right and K - 1 times as often wrong in every class.

    >>> from crowdwise import Annotations

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> ConfusionVector().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "confusion_vector"
    smoothing: Positive = 1.0
    prior_class: NonNegative = 0.0

    def model(self, shape: Shape) -> ConfusionModel:  # noqa: ARG002
        """One probability per worker and class."""
        return _Vector(np.full((1, 1), float(self.smoothing)), self.prior_class)


class _Vector(ConfusionModel):
    def confusion(self, counts: F8) -> F8:
        a, k = float(self.prior[0, 0]), counts.shape[1]
        right = np.einsum("wkk->wk", counts)
        return coin_matrix((right + a) / (counts.sum(axis=1) + k * a))

    def log_confusion_density(self, theta: F8) -> float:
        return coin_density(np.einsum("wkk->wk", theta), theta.shape[1], float(self.prior[0, 0]))
