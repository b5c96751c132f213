"""Where the others put the items of each ranking."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .agreement import agreement
from .rows import RankRows
from .simple import shares

F8 = npt.NDArray[np.float64]
# How often the others are weighed again, and the voices for the middle that what few others say is drawn by.
ROUNDS, MIDDLE = 2, 1.0


def places_by_others(rows: RankRows) -> F8:
    """score[row, place]: the mean Borda share that everybody else gives the entry, higher is better; one half where
    nobody else ranked it. The others count by how far they go with the rest, and who goes against them is heard
    turned round."""
    put = _put(rows)
    found = _without_own(rows, put, rows.weights)
    for _ in range(ROUNDS):
        tau = np.nan_to_num(agreement(rows, found).mean)
        say = np.clip(tau / max(float(tau.max(initial=0.0)), 1e-9), -1.0, 1.0)
        found = _without_own(rows, put, rows.weights * say[rows.worker])
    return found


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
    heard = np.isfinite(put) & rows.there & (rows.weights > 0)[:, None]
    entry = np.maximum(rows.entry, 0)
    w = np.where(heard, np.broadcast_to(weight[:, None], put.shape), 0.0)
    value = w * (np.nan_to_num(put) - 0.5)
    total, sums = (np.bincount(entry.ravel(), each.ravel(), rows.n_entries) for each in (np.abs(w), value))
    rest, left = sums[entry] - value, np.maximum(total[entry] - np.abs(w), 0.0)
    return np.asarray(0.5 + np.where(heard, rest / (left + MIDDLE), 0.0))
