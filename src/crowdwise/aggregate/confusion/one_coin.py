"""One-coin: one accuracy per worker, errors uniform over the other classes, fitted by EM.

    P(y_iw = z_i) = p_w,   every wrong label (1 - p_w) / (K - 1)

The symmetric Dawid-Skene model; Zhang, Chen, Zhou & Jordan (2016), JMLR 17(102).
Few parameters, so it is steady on sparse data. Fails with class-biased workers, whom it cannot describe: on bluebird
it falls to chance where Dawid-Skene is at .90.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import NonNegative, Positive
from ...maths.coins import even
from ..spread import Shape
from .base import ConfusionAggregator, ConfusionModel

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class OneCoin(ConfusionAggregator):
    """`smoothing` (> 0, usually 0.01 to 2) counts each worker that many times right and K - 1 times as often wrong:
    before the first label a worker is a guesser.

    >>> from crowdwise import Annotations

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> OneCoin().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "one_coin"
    smoothing: Positive = 0.5
    prior_class: NonNegative = 0.0

    def model(self, shape: Shape) -> ConfusionModel:  # noqa: ARG002
        """One probability per worker."""
        return CoinModel(np.full((1, 1), float(self.smoothing)), self.prior_class)


class CoinModel(ConfusionModel):
    """One probability per worker; prior[0, 0] is the smoothing."""

    def confusion(self, counts: F8) -> F8:
        """The share of right labels, `smoothing` right and (K - 1) · smoothing wrong ones added."""
        a, k = float(self.prior[0, 0]), counts.shape[1]
        right = np.einsum("wkk->w", counts)
        p = (right + a) / (counts.sum(axis=(1, 2)) + k * a)
        return coin_matrix(p[:, None].repeat(k, axis=1))

    def log_confusion_density(self, theta: F8) -> float:
        """Log density of the workers' Beta priors."""
        return coin_density(theta[:, 0, 0], theta.shape[1], float(self.prior[0, 0]))


def coin_matrix(p: F8) -> F8:
    """theta[worker, observed, true] with p[worker, true] on the diagonal and the rest shared out evenly."""
    k = p.shape[1]
    return np.ones((len(p), 1, 1)) if k == 1 else even(p[:, None], ((1 - p) / (k - 1))[:, None], k)


def coin_density(p: F8, k: int, smoothing: float) -> float:
    """Log density of the Beta prior whose mode the M-step takes: `smoothing` right, (k - 1) · smoothing wrong."""
    if k == 1:
        return 0.0
    return float(smoothing * (np.log(p) + (k - 1) * np.log(1 - p)).sum())
