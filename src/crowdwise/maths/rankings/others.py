"""Where the others put the items of each ranking."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .agreement import agreement
from .rows import RankRows
from .simple import shares

F8 = npt.NDArray[np.float64]
# Nobody's word counts less than this beside the best one's.
LEAST_SAY = 0.05


def places_by_others(rows: RankRows) -> F8:
    """score[row, place]: the mean Borda share that everybody else gives the entry, higher is better; one half where
    nobody else ranked it. Twice: the second time the others count by how far they go with the rest."""
    put = _put(rows)
    first = _without_own(rows, put, rows.weights)
    tau = np.nan_to_num(agreement(rows, first).mean)
    say = np.clip(tau / max(float(tau.max(initial=0.0)), 1e-9), LEAST_SAY, 1.0)
    return _without_own(rows, put, rows.weights * say[rows.worker])


def _put(rows: RankRows) -> F8:
    """share[row, place] of the other ranked items that the entry stands before."""
    out = np.full(rows.entry.shape, np.nan)
    for task, own in enumerate(rows.by_task):
        if len(own):
            begin = int(rows.begin[task])
            table = shares(rows.levels(task))
            row, place = np.nonzero(rows.there[own])
            out[own[row], place] = table[row, rows.entry[own[row], place] - begin]
    return out


def _without_own(rows: RankRows, put: F8, weight: F8) -> F8:
    heard = np.isfinite(put) & rows.there & (weight > 0)[:, None]
    entry = np.maximum(rows.entry, 0)
    w = np.where(heard, np.broadcast_to(weight[:, None], put.shape), 0.0)
    value = w * np.nan_to_num(put)
    total, sums = (np.bincount(entry.ravel(), each.ravel(), rows.n_entries) for each in (w, value))
    rest, left = sums[entry] - value, total[entry] - w
    return np.asarray(np.where(left > 1e-9, rest / np.where(left > 1e-9, left, 1.0), 0.5))
