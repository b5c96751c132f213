"""The collapsed Gibbs sampler's sweep in numba: every free task is taken out of the counts, drawn again, put back.

`counts` is [worker, observed, true] and `total` [worker, true], both without their priors: whole numbers go up and
down without rounding, so ten thousand sweeps leave no drift.
"""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np
from numba import njit

_BLOCK = 16


@njit(cache=True, nogil=True, error_model="numpy")
def _move(rows, cell, worker, weight, counts, total, z, K, sign):
    """Add (or take away) the votes of one task under its class z."""
    for e in range(rows[0], rows[1]):
        w = sign * (weight[e] if weight.size else 1.0)
        counts[np.int64(cell[e]) * K + z] += w
        total[np.int64(worker[e]) * K + z] += w


@njit(cache=True, nogil=True, error_model="numpy")
def _products(first, last, cell, worker, label, counts, total, prior, row_prior, s, below, logs):
    """s[k] *= p(votes | k, the other tasks) up to a factor; one vote per worker and task: plain ratios.

    Up to a block of votes s holds the product itself; returns the logarithm of what was divided out.
    """
    K = s.size
    long = last - first > _BLOCK
    for k in range(K):
        logs[k] = 0.0
        below[k] = 1.0
    for e in range(first, last):
        start, base, line = np.int64(cell[e]) * K, np.int64(worker[e]) * K, np.int64(label[e]) * K
        for k in range(K):
            s[k] *= counts[start + k] + prior[line + k]
            below[k] *= total[base + k] + row_prior[k]  # one division per block, not per vote
        if long and (e - first) % _BLOCK == _BLOCK - 1:
            for k in range(K):
                logs[k] += log(s[k] / below[k])
                s[k] = 1.0
                below[k] = 1.0
    for k in range(K):
        s[k] /= below[k]
    if not long:
        return 0.0
    for k in range(K):
        logs[k] += log(s[k])
    return _exponentials(logs, s)


@njit(cache=True, nogil=True, error_model="numpy")
def _exponentials(logs, s):
    """s = exp(logs - their maximum), which is returned."""
    top = logs.max()
    for k in range(s.size):
        s[k] = exp(logs[k] - top)
    return top


@njit(cache=True, nogil=True, error_model="numpy")
def _rising(first, last, cell, worker, label, weight, before, counts, total, prior, row_prior, s, logs):
    """The same for weights and for several votes of one worker on a task: rising factorials instead of ratios."""
    K = s.size
    for k in range(K):
        logs[k] = log(s[k])
    for e in range(first, last):
        start, base, line = np.int64(cell[e]) * K, np.int64(worker[e]) * K, np.int64(label[e]) * K
        for k in range(K):
            # max: non-whole weights that come and go may leave -1e-16 behind.
            cell_mass = max(counts[start + k], 0.0) + prior[line + k]
            row_mass = max(total[base + k], 0.0) + row_prior[k] + before[e]
            logs[k] += lgamma(cell_mass + weight[e]) - lgamma(cell_mass)
            logs[k] -= lgamma(row_mass + weight[e]) - lgamma(row_mass)
    return _exponentials(logs, s)


@njit(cache=True, nogil=True, error_model="numpy")
def gibbs_sweep(
    free, offset, cell, worker, label, weight, before, prior, row_prior, prior_class, luck, z, counts, total, mass, q
):
    """One sweep over the free tasks; q[task] += its conditional. Returns Σ log p(a task's votes | all the rest).

    `weight` and `before` are empty when every worker has one vote of weight one per task.
    """
    K = mass.size
    s, below, logs, rows = np.empty(K), np.empty(K), np.empty(K), np.empty(2, np.int64)
    tasks_mass = mass.sum() + prior_class * K - 1.0
    score = 0.0
    for j in range(free.size):
        i = free[j]
        first, last = offset[i], offset[i + 1]
        rows[0], rows[1] = first, last
        mass[z[i]] -= 1.0
        _move(rows, cell, worker, weight, counts, total, z[i], K, -1.0)
        for k in range(K):
            s[k] = mass[k] + prior_class
        if weight.size:
            top = _rising(first, last, cell, worker, label, weight, before, counts, total, prior, row_prior, s, logs)
        else:
            top = _products(first, last, cell, worker, label, counts, total, prior, row_prior, s, below, logs)
        norm = s.sum()
        score += top + log(norm / tasks_mass)
        left = luck[j] * norm
        drawn = K - 1
        for k in range(K):
            q[i, k] += s[k] / norm
            if left >= 0.0:
                left -= s[k]
                if left < 0.0:
                    drawn = k
        z[i] = drawn
        mass[drawn] += 1.0
        _move(rows, cell, worker, weight, counts, total, drawn, K, 1.0)
    return score


__all__: list[str] = ["gibbs_sweep"]
