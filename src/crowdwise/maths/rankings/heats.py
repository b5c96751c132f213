"""How sharply each worker sees where the others put the items: likelihoods of a heat in Plackett and Luce's model."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..alike.abilities import some_rows
from ..alike.population import GRID, Chances, chances, nobody
from .rows import RankRows

F8 = npt.NDArray[np.float64]
# Heats among which that of the usual worker is looked for, and shares are kept off 0 and 1 by this much.
HEATS, EDGE = np.exp(np.linspace(np.log(0.05), np.log(8.0), 25)), 0.04


def heat_chances(rows: RankRows, places: F8, known: npt.NDArray[np.bool_]) -> Chances:
    """places[row, place] are shares that others give the entries (`places_by_others`); 0 is somebody who shuffles."""
    use = np.flatnonzero(rows.weights > 0)
    use = use[some_rows(rows.worker[use], rows.n_workers)]
    share = np.clip(places[use], EDGE, 1 - EDGE)
    score = np.log(share) - np.log1p(-share)
    told = _told(rows, use)
    worker = rows.worker[use]
    every = np.array([_loglik(score, told, heat).sum() for heat in HEATS])
    usual = float(HEATS[every.argmax()])
    if every.max() <= float(_loglik(score, told, 0.0).sum()):
        return nobody(rows.n_workers)  # the crowd goes with nobody's orders
    loglik = np.empty((rows.n_workers, len(GRID)))
    for j, ability in enumerate(GRID):
        loglik[:, j] = np.bincount(worker, _loglik(score, told, usual * ability), rows.n_workers)
    return chances(loglik, loglik[:, len(GRID) // 2], known)


def _told(rows: RankRows, use: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], F8]:
    """(entries that were put before others, the first place of each entry's level, 1 where there is an entry)."""
    there, level = rows.there[use], rows.level[use]
    place = np.arange(level.shape[1])
    new = np.concatenate([np.ones((len(use), 1), dtype=bool), np.diff(level, axis=1) != 0], axis=1)
    first = np.maximum.accumulate(np.where(new, place, 0), axis=1)
    last = level == np.where(there, level, -1).max(axis=1, keepdims=True, initial=-1)
    return there & ~last, first, there.astype(np.float64)


def _loglik(score: F8, told: tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], F8], heat: float) -> F8:
    """Of each row: every entry is chosen among those that do not stand before it."""
    chosen, first, there = told
    left = np.cumsum((there * np.exp(heat * score))[:, ::-1], axis=1)[:, ::-1]
    rest = np.take_along_axis(left, first, axis=1)
    each = np.where(chosen, heat * score - np.log(np.maximum(rest, 1e-300)), 0.0)
    return np.asarray(each.sum(axis=1))
