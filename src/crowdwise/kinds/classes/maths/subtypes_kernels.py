"""Kernels for classes with subtypes in numba (see subtypes.py)."""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(offset, cell, weight, log_theta, log_weight, gold, groups, q, counts):
    """Fill q[task, state], add to counts[cell, state] and return the log-likelihood."""
    S = log_weight.size
    total = 0.0
    for i in range(q.shape[0]):
        s = q[i]
        s[:] = log_weight
        for e in range(offset[i], offset[i + 1]):
            w = weight[e] if weight.size else 1.0
            row = log_theta[cell[e]]
            for k in range(S):
                s[k] += w * row[k]
        lo, hi = 0, S
        if gold.size and np.int64(gold[i]) * groups < S:
            lo = np.int64(gold[i]) * groups
            hi = lo + groups
        top = s[lo:hi].max()
        norm = 0.0
        for k in range(S):
            s[k] = exp(s[k] - top) if lo <= k < hi else 0.0
            norm += s[k]
        for k in range(S):
            s[k] /= norm
        total += top + log(norm)
        for e in range(offset[i], offset[i + 1]):
            w = weight[e] if weight.size else 1.0
            row = counts[cell[e]]
            for k in range(S):
                row[k] += w * s[k]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def scatter(offset, cell, weight, q, counts):
    """Add weight · q[task, state] to counts[cell, state]."""
    for i in range(q.shape[0]):
        s = q[i]
        for e in range(offset[i], offset[i + 1]):
            w = weight[e] if weight.size else 1.0
            row = counts[cell[e]]
            for k in range(s.size):
                row[k] += w * s[k]


__all__: list[str] = ["scatter", "sweep"]
