"""Numba kernels for the chain over the units of a text: forward-backward, expected counts, best path.

The cells of a task are contiguous (rows are sorted by task), so one sweep handles a task while it is in the cache.
Probabilities are scaled at every step; the logarithms of the scales add up to the log-likelihood.
"""

from __future__ import annotations

from math import log

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(unit_offsets, row_offsets, cell_offsets, worker, label, log_a, start, move, gold, weight, q, counts, first,
          steps, lo, hi):  # fmt: skip
    """Run the E-step for tasks lo .. hi, accumulate its statistics and return the log-likelihood.

    log_a[worker, previous, label, state]: `previous` has one entry (labels are independent) or one for each label.
    start[state], move[state, state]; gold[unit] is a state or -1. Adds to counts (like log_a), first[state] and
    steps[state, state] (still to be multiplied by `move`).
    """
    K = start.size
    P = log_a.shape[1]
    total = 0.0
    e = np.empty(K)
    b = np.empty(K)
    h = np.empty(K)
    for t in range(lo, hi):
        u0, u1 = unit_offsets[t], unit_offsets[t + 1]
        n = u1 - u0
        if n == 0:
            continue
        q[u0:u1] = 0.0
        for r in range(row_offsets[t], row_offsets[t + 1]):
            w, previous, x = worker[r], 0, weight[r]
            for i in range(n):
                y = label[cell_offsets[r] + i]
                a = log_a[w, previous, y]
                s = q[u0 + i]
                for k in range(K):
                    s[k] += x * a[k]
                if P > 1:
                    previous = y
        scale = np.empty(n)
        forward = np.empty((n, K))
        for i in range(n):
            s = q[u0 + i]
            g = gold[u0 + i]
            top = s[g] if g >= 0 else s.max()
            total += top
            for k in range(K):
                s[k] = np.exp(s[k] - top) if g < 0 else (1.0 if k == g else 0.0)
            norm = 0.0
            if i == 0:
                for k in range(K):
                    forward[i, k] = start[k] * s[k]
                    norm += forward[i, k]
            else:
                for k in range(K):
                    forward[i, k] = 0.0
                for j in range(K):
                    f = forward[i - 1, j]
                    if f > 0.0:
                        for k in range(K):
                            forward[i, k] += f * move[j, k]
                for k in range(K):
                    forward[i, k] *= s[k]
                    norm += forward[i, k]
            if norm < 1e-300:  # unreachable: restart the chain here
                norm = 0.0
                for k in range(K):
                    forward[i, k] = s[k] + 1e-300
                    norm += forward[i, k]
            total += log(norm)
            scale[i] = norm
            for k in range(K):
                forward[i, k] /= norm
        for k in range(K):
            b[k] = 1.0
        for i in range(n - 1, -1, -1):
            s = q[u0 + i]
            if i > 0:
                for k in range(K):
                    h[k] = s[k] * b[k] / scale[i]
                for j in range(K):
                    f = forward[i - 1, j]
                    x = 0.0
                    for k in range(K):
                        steps[j, k] += f * h[k]
                        x += move[j, k] * h[k]
                    e[j] = x
            norm = 0.0
            for k in range(K):
                s[k] = forward[i, k] * b[k]
                norm += s[k]
            for k in range(K):
                s[k] /= norm
            if i > 0:
                for k in range(K):
                    b[k] = e[k]
        for k in range(K):
            first[k] += q[u0, k]
        for r in range(row_offsets[t], row_offsets[t + 1]):
            w, previous, x = worker[r], 0, weight[r]
            for i in range(n):
                y = label[cell_offsets[r] + i]
                c = counts[w, previous, y]
                s = q[u0 + i]
                for k in range(K):
                    c[k] += x * s[k]
                if P > 1:
                    previous = y
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def gather(unit_offsets, row_offsets, cell_offsets, worker, label, weight, q, counts):
    """Add up the counts under a given posterior."""
    P, K = counts.shape[1], counts.shape[3]
    for t in range(unit_offsets.size - 1):
        u0 = unit_offsets[t]
        n = unit_offsets[t + 1] - u0
        for r in range(row_offsets[t], row_offsets[t + 1]):
            w, previous, x = worker[r], 0, weight[r]
            for i in range(n):
                y = label[cell_offsets[r] + i]
                for k in range(K):
                    counts[w, previous, y, k] += x * q[u0 + i, k]
                if P > 1:
                    previous = y


@njit(cache=True, nogil=True)
def best_path(unit_offsets, score, start, move, out):
    """Find the path of each task with the highest sum of score[unit, state], start and move (-inf: forbidden)."""
    K = start.size
    for t in range(unit_offsets.size - 1):
        u0 = unit_offsets[t]
        n = unit_offsets[t + 1] - u0
        if n == 0:
            continue
        back = np.zeros((n, K), dtype=np.int32)
        at = start + score[u0]
        for i in range(1, n):
            new = np.empty(K)
            for k in range(K):
                top, arg = -np.inf, 0
                for j in range(K):
                    x = at[j] + move[j, k]
                    if x > top:
                        top, arg = x, j
                new[k] = top + score[u0 + i, k]
                back[i, k] = arg
            at = new
        k = int(np.argmax(at))
        for i in range(n - 1, -1, -1):
            out[u0 + i] = k
            k = back[i, k]
