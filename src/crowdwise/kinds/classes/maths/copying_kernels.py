"""Excess agreement of pairs of workers in numba (see kinds/classes/maths/copying.py for the maths)."""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

_FLOOR = 1e-6


@njit(cache=True, nogil=True, error_model="numpy")
def pairs_kernel(
    offset, worker, label, weight, own_weight, own_same, q, counts, total, pooled, log_prior, strength, gold, place,
    chosen, out, longest, lo, hi,
):  # fmt: skip
    """Add the sums of the chosen tasks lo to hi to out[sum, first worker, second worker]."""
    K = log_prior.size
    logs = np.empty((longest, K))
    p = np.empty((longest, K))
    score = np.empty(K)
    for i in range(lo, hi):
        first, last = offset[i], offset[i + 1]
        if not chosen[i] or last - first < 2:
            continue
        for k in range(K):
            score[k] = 0.0
        for e in range(first, last):
            w, observed = worker[e], label[e]
            wt = weight[e] if weight.size else 1.0
            for k in range(K):
                theta = counts[w, observed, k] - own_same[e] * q[i, k] + strength * pooled[observed, k]
                theta /= total[w, k] - own_weight[e] * q[i, k] + strength
                logs[e - first, k] = wt * log(max(theta, _FLOOR))
                score[k] += logs[e - first, k]
        is_gold = gold.size > 0 and gold[i] < K
        for e in range(first, last):
            r = e - first
            top = -np.inf
            for k in range(K):
                p[r, k] = score[k] - logs[r, k] + log_prior[k]
                top = max(top, p[r, k])
            norm = 0.0
            for k in range(K):
                p[r, k] = exp(p[r, k] - top)
                norm += p[r, k]
            for k in range(K):
                p[r, k] = p[r, k] / norm
                if is_gold:
                    p[r, k] = 1.0 if gold[i] == k else 0.0
        for b in range(first, last):
            w = worker[b]
            wt = weight[b] if weight.size else 1.0
            if place[w] < 0:
                continue
            for a in range(first, last):
                v = worker[a]
                if v == w or place[v] < 0:
                    continue
                observed = label[a]
                agree = 1.0 if observed == label[b] else 0.0
                expected = 0.0
                for k in range(K):
                    theta = counts[w, observed, k] - own_same[b] * agree * q[i, k] + strength * pooled[observed, k]
                    theta /= total[w, k] - own_weight[b] * q[i, k] + strength
                    expected += p[b - first, k] * theta
                expected = min(max(expected, 0.0), 1.0)
                doubt = 1.0 - p[b - first, observed]
                pair = 0.5 * wt * (weight[a] if weight.size else 1.0)
                out[0, place[v], place[w]] += pair * doubt * (agree - expected)
                out[1, place[v], place[w]] += pair * doubt * doubt * expected * (1.0 - expected)
                out[2, place[v], place[w]] += pair * doubt * (1.0 - expected)
                out[3, place[v], place[w]] += pair
    return 0.0
