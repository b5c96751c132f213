"""How far classes are off where they have an order: steps off, and quadratic kappa."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..bootstrap import central

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


def median_level(p: F8) -> I8:
    """The median of p[task, level]: the first level with half of the probability at or below it."""
    return np.asarray((np.cumsum(p, axis=1) >= 0.5 - 1e-9).argmax(axis=1), dtype=np.int64)


def quadratic_kappa(table: F8) -> F8:
    """Cohen's kappa with squared steps of table[..., said, true]; NaN where one level is all there is.

    Cohen (1968), Psychological Bulletin 70(4), doi:10.1037/h0026256.
    """
    k = table.shape[-1]
    apart = np.subtract.outer(np.arange(k), np.arange(k)) ** 2.0
    seen = (table * apart).sum(axis=(-2, -1))
    n = table.sum(axis=(-2, -1))
    chance = np.einsum("...i,...j,ij->...", table.sum(axis=-1), table.sum(axis=-2), apart)
    return np.where(chance > 0, 1 - n * seen / np.where(chance > 0, chance, 1.0), np.nan)


def kappa_interval(table: F8, resamples: int, seed: int) -> tuple[float, float] | None:
    """The central 95 % over tasks drawn with replacement, which is a multinomial draw of the table's cells."""
    n, k = int(table.sum()), table.shape[-1]
    drawn = np.random.default_rng(seed).multinomial(n, table.ravel() / n, size=resamples).reshape(-1, k, k)
    found = quadratic_kappa(drawn.astype(np.float64))
    found = found[np.isfinite(found)]
    if len(found) < resamples / 2:
        return None
    return central(found, n, 0.95)
