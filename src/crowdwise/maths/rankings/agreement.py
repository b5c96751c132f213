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
    """By worker: mean tau over their rankings (longer lists count more), its standard error, the spread that the mean
    of a guesser would have, pairs of items behind it, and rankings. `tau` is by row."""

    mean: F8
    error: F8
    chance: F8
    pairs: F8
    n: npt.NDArray[np.int64]
    tau: F8


def agreement(rows: RankRows, score: F8) -> Agreement:
    """With score[entry], or score[row, place] of each row by itself; weighted by pairs of items."""
    size = rows.size.astype(np.float64)
    tied = _tie_sizes(rows)
    every = size * (size - 1) / 2
    pairs = every - (tied * (tied - 1) / 2).sum(axis=1)  # those that the row puts in an order
    ahead = every - 2 * distances(rows, score)  # pairs the same way round minus pairs the other way round
    tau = ahead / np.maximum(pairs, 1)
    heard = (rows.weights > 0) & (pairs > 0)
    w = np.where(heard, pairs, 0.0)
    m = rows.n_workers
    total = np.asarray(np.bincount(rows.worker, w, m), dtype=np.float64)
    safe = np.where(total > 0, total, np.nan)
    mean = np.bincount(rows.worker, w * tau, m) / safe
    # The variance of that difference for a random order with these ties; Kendall (1970), Rank correlation methods.
    spread = size * (size - 1) * (2 * size + 5) - (tied * (tied - 1) * (2 * tied + 5)).sum(axis=1)
    guess = spread / 18 / np.maximum(pairs, 1) ** 2
    chance = np.sqrt(np.bincount(rows.worker, w**2 * guess, m)) / safe
    n = np.bincount(rows.worker, heard, m).astype(np.int64)
    gap = np.bincount(rows.worker, w**2 * (tau - mean[rows.worker]) ** 2, m)
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.sqrt(gap * n / np.maximum(n - 1, 1)) / safe
    # With few rankings their spread says little: never below half of a guesser's.
    error = np.where(n > 1, np.maximum(seen, 0.5 * chance), chance)
    return Agreement(mean, error, chance, total, n, tau)


def _tie_sizes(rows: RankRows) -> F8:
    """size[row, level]: how many items share each place."""
    out = np.zeros((len(rows), rows.entry.shape[1]))
    row, place = np.nonzero(rows.there)
    np.add.at(out, (row, rows.level[row, place]), 1.0)
    return out
