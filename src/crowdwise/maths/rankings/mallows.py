"""Mallows' model with a dispersion of each worker: P(ranking) ~ exp(-phi_m x pairs that differ from the centre).

Mallows (1957), doi:10.1093/biomet/44.1-2.114. The centre is Kemeny's order under weights phi_m; a phi below 0 is
somebody who ranks upside down. Partial rankings count by the items that they hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .kemeny import kemeny_places
from .rows import RankRows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
GRID = np.linspace(-3.0, 5.0, 161)


@dataclass(frozen=True, eq=False)
class Centre:
    """score[entry] (minus the mean place), dispersion[worker], the objective of each round."""

    score: F8
    dispersion: F8
    trace: F8
    n_iter: int
    converged: bool


def mallows(rows: RankRows, spread: float, per_worker: bool, max_iter: int, seed: int) -> Centre:
    """Rounds of centres and dispersions, until no centre changes."""
    phi = np.ones(rows.n_workers)
    score = np.zeros(rows.n_entries)
    trace: list[float] = []
    converged = False
    while len(trace) < max_iter and not converged:
        new = _centres(rows, phi, seed)
        converged = bool(np.allclose(new, score)) and len(trace) > 0
        score = new
        off = distances(rows, score)
        phi, value = _dispersions(rows, off, spread, per_worker)
        trace.append(value)
    return Centre(score, phi, np.array(trace), len(trace), converged)


def _centres(rows: RankRows, phi: F8, seed: int) -> F8:
    score = np.zeros(rows.n_entries)
    rng = np.random.default_rng(seed)
    weight = rows.weights * phi[rows.worker]
    for task in range(len(rows.by_task)):
        begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
        score[begin:end] = -kemeny_places(rows.preferences(task, weight), rng)[0]
    return score


def distances(rows: RankRows, score: F8) -> F8:
    """Pairs of each row that stand the other way round in the scores; a tie on either side is a half. Scores are
    by entry, or by row and place."""
    own = np.where(rows.there, score[np.maximum(rows.entry, 0)] if score.ndim == 1 else score, np.nan)
    out = np.zeros(len(rows))
    for lo in range(0, len(rows), 4096):
        some, level = own[lo : lo + 4096], rows.level[lo : lo + 4096].astype(np.float64)
        level = np.where(np.isnan(some), np.nan, level)
        s = np.sign(np.round(some[:, :, None] - some[:, None, :], 9))
        r = np.sign(level[:, None, :] - level[:, :, None])
        out[lo : lo + 4096] = np.nansum((1 - s * r) / 2, axis=(1, 2)) / 2 - 0.25 * np.sum(~np.isnan(some), axis=1)
    return out


def _dispersions(rows: RankRows, off: F8, spread: float, per_worker: bool) -> tuple[F8, float]:
    """Posterior means under a normal prior around the crowd's, and the log posterior there."""
    m = rows.n_workers
    who = rows.worker if per_worker else np.zeros(len(rows), dtype=np.int64)
    n_groups = m if per_worker else 1
    table = -np.outer(np.bincount(who, rows.weights * off, n_groups), GRID)
    for size in np.unique(rows.size):
        count = np.bincount(who, rows.weights * (rows.size == size), n_groups)
        table -= count[:, None] * log_norm(GRID, int(size))[None, :]
    middle = GRID[int(table.sum(axis=0).argmax())]
    if per_worker:
        table = table - 0.5 * ((GRID - middle) / spread) ** 2
    top = table.max(axis=1)
    density = np.exp(table - top[:, None])
    mean = (density @ GRID) / density.sum(axis=1)
    return (mean if per_worker else np.full(m, mean[0])), float(top.sum())


def log_norm(phi: F8, n: int) -> F8:
    """log of the sum of exp(-phi d) over all orders of n items."""
    out = np.zeros_like(phi)
    safe = np.where(np.abs(phi) < 1e-9, 1e-9, phi)
    for j in range(2, n + 1):
        out += np.log(np.expm1(-j * safe) / np.expm1(-safe))
    return out
