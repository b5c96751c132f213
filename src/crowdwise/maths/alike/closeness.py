"""How far answers go together: Krippendorff's alpha from any distance, and how far each worker follows the tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..bootstrap import MAX_BLOCKS, bootstrap_interval, random_blocks
from .pairing import F8, I8, Distance, Rows, anywhere, elsewhere, within_tasks

# Random rows that each row is compared with; fewer rows are compared with more.
DRAWS, LEAST_PAIRS, MOST_DRAWS = 4, 40_000, 64


@dataclass(frozen=True, eq=False)
class Closeness:
    """`alpha` with its 95 % interval (NaN where nothing can be said). Of each worker: `n` answers to tasks that others
    answered too, `apart` (mean distance from the others' answers to the same tasks), and `follows` with the standard
    error `error`: 1 - apart / the same distance if their answers were dealt out to their tasks at random. Whoever
    answers without looking has 0, whatever their habits. `pairs` are the compared rows, with `distance`."""

    alpha: float
    alpha_low: float
    alpha_high: float
    n_tasks: int
    n: I8
    apart: F8
    follows: F8
    error: F8
    pairs: tuple[I8, I8]
    distance: F8


def closeness(rows: Rows, distance: Distance, seed: int = 0) -> Closeness:
    """From rows and a distance between rows."""
    rng = np.random.default_rng(seed)
    i, j = within_tasks(rows, rng)
    d = distance(i, j) if len(i) else np.empty(0)
    near = _row_means(len(rows.task), np.concatenate([i, j]), np.concatenate([d, d]))
    draws = int(np.clip(LEAST_PAIRS // max(len(rows.by_worker[0]), 1), DRAWS, MOST_DRAWS))
    alpha, low, high = _alpha(rows, near, distance, draws, rng)
    follows, error = _follows(rows, near, distance, draws, rng)
    n = np.diff(rows.by_worker[1])
    heard = np.isfinite(near)
    total = np.bincount(rows.worker[heard], near[heard], rows.n_workers)
    with np.errstate(invalid="ignore"):
        apart = total / np.where(n > 0, n, np.nan)
    several = int((np.diff(rows.begin) > 1).sum())
    return Closeness(alpha, low, high, several, n, apart, follows, error, (i, j), d)


def _row_means(n: int, at: I8, values: F8) -> F8:
    """Mean of the values that fall on each row; NaN where none does."""
    count = np.bincount(at, minlength=n)
    total = np.bincount(at, weights=values, minlength=n)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _alpha(
    rows: Rows, near: F8, distance: Distance, draws: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """1 - observed / expected disagreement, each row once; the interval draws tasks again."""
    i, j = anywhere(rows, draws, rng)
    if not len(i):
        return np.nan, np.nan, np.nan
    far = _row_means(len(rows.task), i, distance(i, j))
    seen = rows.by_worker[0]
    by_task = np.stack([np.bincount(rows.task[seen], v[seen], rows.n_tasks) for v in (near, far)], axis=1)
    by_task = by_task[np.bincount(rows.task[seen], minlength=rows.n_tasks) > 0]
    block = random_blocks(len(by_task), MAX_BLOCKS, rng)
    n_blocks = int(block.max()) + 1
    terms = np.stack([np.bincount(block, column, n_blocks) for column in by_task.T], axis=1).astype(np.float64)

    def ratio(sums: F8) -> F8:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1 - sums[..., 0] / sums[..., 1])

    if terms[:, 1].sum() <= 0:
        return np.nan, np.nan, np.nan
    found = bootstrap_interval(terms, ratio, 0.95, rng)
    low, high = (np.nan, np.nan) if found is None else found
    return float(ratio(terms.sum(axis=0))), low, high


def _follows(rows: Rows, near: F8, distance: Distance, draws: int, rng: np.random.Generator) -> tuple[F8, F8]:
    i, j = elsewhere(rows, draws, rng)
    dealt = _row_means(len(rows.task), i, distance(i, j) if len(i) else np.empty(0))
    has = np.flatnonzero(np.isfinite(dealt) & np.isfinite(near))
    who, m = rows.worker[has], rows.n_workers
    n = np.bincount(who, minlength=m)
    x, y = (np.bincount(who, values[has], m) for values in (near, dealt))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(y > 0, x / y, np.nan)
        # Delta method: rows are independent given the worker.
        gap = near[has] - share[who] * dealt[has]
        square = np.bincount(who, np.nan_to_num(gap**2), m)
        error = np.sqrt(square * n / np.maximum(n - 1, 1)) / np.where(y > 0, y, np.nan)
    return np.asarray(1 - share), np.asarray(np.where(n > 1, error, np.nan))
