"""Label sets that hold the truth with a promised frequency: split conformal prediction.

Vovk, Gammerman & Shafer (2005); score s = 1 - P[task, class], q = the ceil((n+1)(1-alpha))-th smallest gold score.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# Breaks ties between scores, smaller than any difference that matters.
JITTER = 1e-6


def rank(n: int, alpha: float) -> int:
    """Which of n gold scores is the limit; more than n: none is.

    >>> rank(99, 0.1), rank(8, 0.1)
    (90, 9)
    """
    return math.ceil((n + 1) * (1 - alpha) - 1e-9)


def limit(scores: F8, alpha: float) -> float:
    """The largest score that is let into a set; infinite (everything) where there is too little gold."""
    place = rank(len(scores), alpha)
    return float(np.partition(scores, place - 1)[place - 1]) if place <= len(scores) else math.inf


def limits(scores: F8, group: I8, n_groups: int, alpha: float) -> F8:
    """A limit for each group of gold scores."""
    return np.array([limit(scores[group == g], alpha) for g in range(n_groups)])
