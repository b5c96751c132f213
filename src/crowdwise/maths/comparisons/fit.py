"""What every method for comparisons gives: scores of items, a picture of workers, and how a comparison comes out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .uncertainty import Block

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairFit:
    """score[item]; reliability, slope, position, tie[worker] (None: the method has none of it).

    P(left wins) and P(tie) of a pair, asked of nobody in particular, follow from the scores and `tie_level`, the
    strength of a tie beside two equal items (-inf: there are no ties).
    `blocks` hold the covariance of the scores, island by island; None where the method does not know it.
    """

    score: F8
    blocks: list[Block] | None = None
    reliability: F8 | None = None
    slope: F8 | None = None
    position: F8 | None = None
    tie: F8 | None = None
    tie_level: float = -np.inf
    tie_spread: float = 0.0
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    converged: bool = True


# Knots of the average over workers' tie rates: a standard normal by Gauss and Hermite.
_KNOTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)


def outcome(
    score: F8, left: npt.NDArray[np.integer], right: npt.NDArray[np.integer], level: float, spread: float
) -> F8:
    """P(left wins, right wins, tie) of pairs for a worker who is not known: averaged over the crowd's tie rates."""
    half = (score[left] - score[right]) / 2
    out = np.zeros((len(half), 3))
    if level == -np.inf:
        out[:, 0] = _sigmoid(2 * half)
        out[:, 1] = 1 - out[:, 0]
        return out
    for knot, weight in zip(_KNOTS, _WEIGHTS / _WEIGHTS.sum(), strict=True):
        u = np.stack([half, -half, np.full(len(half), level + spread * knot)], axis=1)
        u -= u.max(axis=1, keepdims=True)
        p = np.exp(u)
        out += weight * p / p.sum(axis=1, keepdims=True)
    return out


def _sigmoid(x: F8) -> F8:
    return np.exp(-np.logaddexp(0.0, -x))
