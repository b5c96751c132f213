"""How far each worker's answers follow given scores: the posterior of e_m in P = e s(d) + (1 - e) s(-d), on a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .rows import PairRows

F8 = npt.NDArray[np.float64]
GRID = (np.arange(60) + 0.5) / 60


@dataclass(frozen=True, eq=False)
class Reliability:
    """Posterior density[worker, knot of GRID] and what follows from it."""

    density: F8
    mean: F8
    low: F8
    high: F8

    def below(self, limit: float) -> F8:
        """P(reliability < limit) of each worker."""
        return np.asarray(self.density[:, limit > GRID].sum(axis=1))


def reliability(rows: PairRows, score: F8, a: float = 2.0, b: float = 1.0) -> Reliability:
    """Ties tell nothing here. Workers without answers keep the prior Beta(a, b)."""
    prior = (a - 1) * np.log(GRID) + (b - 1) * np.log1p(-GRID)
    log = np.tile(prior, (rows.n_workers, 1))
    decided = np.flatnonzero(rows.outcome != 2)
    d = score[rows.left[decided]] - score[rows.right[decided]]
    s = np.exp(-np.logaddexp(0.0, -np.where(rows.outcome[decided] == 0, d, -d)))  # of the side that was chosen
    who, w = rows.worker[decided], rows.weights[decided]
    for j, knot in enumerate(GRID):
        log[:, j] += np.bincount(who, w * np.log(knot * s + (1 - knot) * (1 - s)), rows.n_workers)
    density = np.exp(log - log.max(axis=1, keepdims=True))
    density /= density.sum(axis=1, keepdims=True)
    cum = np.cumsum(density, axis=1)
    low, high = (GRID[np.minimum((cum < q).sum(axis=1), len(GRID) - 1)] for q in (0.025, 0.975))
    mean = density @ GRID
    return Reliability(density, mean, np.minimum(low, mean), np.maximum(high, mean))
