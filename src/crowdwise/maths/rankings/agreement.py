"""How far each worker's rankings go with given scores: mean Kendall's tau, and what a guesser's would be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .mallows import distances
from .rows import RankRows

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Agreement:
    """By worker: mean tau over their rankings (longer lists count more), its standard error, the spread that the mean of
    a guesser would have, pairs of items behind it, and rankings. `tau` is by row."""

    mean: F8
    error: F8
    chance: F8
    pairs: F8
    n: npt.NDArray[np.int64]
    tau: F8


def agreement(rows: RankRows, score: F8) -> Agreement:
    """Weighted by pairs of items."""
    size = rows.size.astype(np.float64)
    pairs = size * (size - 1) / 2
    tau = 1 - 2 * distances(rows, score) / np.maximum(pairs, 1)
    heard = (rows.weights > 0) & (pairs > 0)
    w = np.where(heard, pairs, 0.0)
    m = rows.n_workers
    total = np.bincount(rows.worker, w, m)
    safe = np.where(total > 0, total, np.nan)
    mean = np.bincount(rows.worker, w * tau, m) / safe
    # The variance of tau of a random order of n items: 2 (2n + 5) / 9 n (n - 1).
    guess = 2 * (2 * size + 5) / (9 * np.maximum(size * (size - 1), 1))
    chance = np.sqrt(np.bincount(rows.worker, w**2 * guess, m)) / safe
    n = np.bincount(rows.worker, heard, m).astype(np.int64)
    gap = np.bincount(rows.worker, w**2 * (tau - mean[rows.worker]) ** 2, m)
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.sqrt(gap * n / np.maximum(n - 1, 1)) / safe
    # With few rankings their spread says little: never below half of a guesser's.
    error = np.where(n > 1, np.maximum(seen, 0.5 * chance), chance)
    return Agreement(mean, error, chance, total, n, tau)
