"""One round of belief propagation between tasks on a grid and workers, in numba (for the maths: numbers/beliefs.py).

Products over a task's answers are taken from both ends, so that the product without one of them needs no division; each
is scaled to a highest entry of one, and an answer's message is floored, so that no product is lost.
"""

from __future__ import annotations

from math import log

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "contract", "arcp"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _scaled(row):
    top = 0.0
    for g in range(row.size):
        top = max(top, row[g])
    for g in range(row.size):
        row[g] /= top


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _moments(belief, grid):
    total, first = 0.0, 0.0
    for g in range(grid.size):
        total += belief[g]
        first += belief[g] * grid[g]
    first /= total
    second = 0.0
    for g in range(grid.size):
        second += belief[g] * (grid[g] - first) ** 2
    return first, second / total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def round_(offset, pattern, table, say, prior, grid, stale, tiny, mean, variance, log_g):
    """Tasks that are stale: mean, variance, and log_g[edge, variance] of their edges."""
    G, S = grid.size, say.shape[1]
    longest = 0
    for i in range(mean.size):
        longest = max(longest, offset[i + 1] - offset[i])
    f = np.empty((longest, G))
    before = np.empty((longest + 1, G))
    after = np.empty(G)
    cavity = np.empty(G)
    for i in range(mean.size):
        first, last = offset[i], offset[i + 1]
        if first == last or not stale[i]:
            continue
        before[0] = prior
        for e in range(first, last):
            row = f[e - first]
            row[:] = 0.0
            for s in range(S):
                w = say[e, s]
                told = table[pattern[e], s]
                for g in range(G):
                    row[g] += w * told[g]
            into, so_far = before[e - first + 1], before[e - first]
            for g in range(G):
                row[g] = max(row[g], tiny)
                into[g] = so_far[g] * row[g]
            _scaled(into)
        mean[i], variance[i] = _moments(before[last - first], grid)
        after[:] = 1.0
        for e in range(last - 1, first - 1, -1):
            so_far, row = before[e - first], f[e - first]
            for g in range(G):
                cavity[g] = so_far[g] * after[g]
                after[g] *= row[g]
            _scaled(cavity)
            _scaled(after)
            for s in range(S):
                told = table[pattern[e], s]
                total = 0.0
                for g in range(G):
                    total += cavity[g] * told[g]
                log_g[e, s] = log(max(total, tiny))


__all__: list[str] = ["round_"]
