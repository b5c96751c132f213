"""Ragged lists as arrays: list g holds size[g] things from start[g] on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
F8 = npt.NDArray[np.float64]


def starts(size: I8) -> I8:
    """Where each list begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(size, dtype=np.int64)])


def spread(begin: I8, size: I8) -> tuple[I8, I8]:
    """(list, thing) for every thing of these lists, list after list."""
    owner = np.repeat(np.arange(len(size), dtype=np.int64), size)
    return owner, np.arange(len(owner), dtype=np.int64) - np.repeat(starts(size)[:-1] - begin, size)


def all_pairs(begin_a: I8, size_a: I8, begin_b: I8, size_b: I8) -> tuple[I8, I8, I8]:
    """(g, a, b) for every thing a of the g-th list on one side and b of the g-th list on the other."""
    group, a = spread(begin_a, size_a)
    wide = size_b[group]
    pair, b = spread(begin_b[group], wide)
    return group[pair], a[pair], b


def sums(values: F8, group: I8, n: int) -> F8:
    """The sum of each group's values."""
    return np.asarray(np.bincount(group, weights=values, minlength=n), dtype=np.float64)


def medians(values: F8, group: I8, n: int) -> F8:
    """medians[g, column] of values[row, column]; NaN for a group without rows."""
    out = np.full((n, values.shape[1]), np.nan)
    size = np.bincount(group, minlength=n)
    begin = starts(size)[:-1]
    full = size > 0
    lower, upper = (begin + (size - 1) // 2)[full], (begin + size // 2)[full]
    for column in range(values.shape[1]):
        ordered = values[np.lexsort((values[:, column], group)), column]
        out[full, column] = (ordered[lower] + ordered[upper]) / 2
    return out
