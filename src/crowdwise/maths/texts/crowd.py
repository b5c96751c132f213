"""What a crowd of texts says together: the text in the middle, workers' weights, and a vote word by word."""

from __future__ import annotations

import numpy as np

from .runs import F8, I8, Runs

# Answers' worth of the crowd's own distance that stand beside each worker's.
PSEUDO = 2.0


def pairs_within(offsets: I8) -> tuple[I8, I8]:
    """Every ordered pair of different rows of one task."""
    count = np.diff(offsets)
    task = np.repeat(np.arange(len(count)), count)
    many = count[task]
    i = np.repeat(np.arange(len(task)), many)
    begin = np.concatenate([[0], np.cumsum(many)])[:-1]
    j = np.arange(int(many.sum())) - np.repeat(begin - offsets[:-1][task], many)
    keep = i != j
    return i[keep], j[keep]


def middle(offsets: I8, off: F8, weight: F8, text: I8) -> I8:
    """The row of each task that is nearest to the others (-1: no rows); ties go to weight, then to the text."""
    n_tasks = len(offsets) - 1
    task = np.repeat(np.arange(n_tasks), np.diff(offsets))
    order = np.lexsort((text, -np.round(weight, 12), np.round(off, 12), task))
    out = np.full(n_tasks, -1, dtype=np.int64)
    has = np.diff(offsets) > 0
    out[has] = order[offsets[:-1][has]]
    return out


def weights_of(error: F8, power: float) -> F8:
    """Weights that fall with the error: its inverse to a power, the crowd's mean one."""
    floor = 0.05 * float(np.median(error)) if len(error) else 0.0
    raw = 1.0 / np.maximum(error, max(floor, 1e-6)) ** power
    return np.asarray(raw / raw.mean()) if len(raw) else raw


def voted_words(offsets: I8, order: I8, runs: Runs, weight: F8, plain: bool = False) -> tuple[I8, I8, I8, F8]:
    """(offsets of tasks, row, place in its text, share of the vote) of every word that the vote keeps; runs by row.

    With `plain` an alignment costs 0 or 1 a place, as in the paper, and ties go to the word with the greater number.
    """
    from ..kernels.texts_compiled import rover

    n = int(runs.offsets[-1])
    row, place, share = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    out = np.zeros(len(offsets), dtype=np.int64)
    used = rover(offsets, order, runs.offsets, runs.word, weight, plain, row, place, share, out)
    # Tasks without words begin where the next one does.
    return np.maximum.accumulate(out), row[:used], place[:used], share[:used]
