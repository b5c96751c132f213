"""Log-odds vote: the optimal weights for workers with one accuracy each and uniform errors.

    weight[w] = log( p (K - 1) / (1 - p) ),   posterior = softmax(score)

p is the accuracy against the current labels, clipped to [1/(n+2), 1 - 1/(n+2)] for n labels: nobody is infallible
on the strength of three labels. Weights and labels are iterated until the labels stay.
Nitzan & Paroush (1982), International Economic Review 23(2), doi:10.2307/2526438.
Fails, like every one-coin model, with class-biased workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count
from ..spread import Spread
from .base import Weights
from .split import SplitVote, refine

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LogOddsVote(SplitVote):
    """At most `max_iter` rounds of voting and weighing.

    >>> from crowdwise import Annotations

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> LogOddsVote().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "log_odds_vote"
    max_iter: Count = 100

    def weigh(self, data: Spread) -> Weights:
        """Log odds of a right label, over chance."""
        k = data.n_classes
        if k == 1:
            return Weights(np.ones(data.n_workers), scale=1.0)

        def log_odds(accuracy: F8, n: F8) -> F8:
            p = np.clip(accuracy, 1 / (n + 2), 1 - 1 / (n + 2))
            return np.asarray(np.log(p * (k - 1) / (1 - p)))

        return refine(data, log_odds, 1.0, self.max_iter)
