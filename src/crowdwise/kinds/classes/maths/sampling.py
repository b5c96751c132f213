"""Sweep of the collapsed Gibbs sampler in numba: every free task is removed from the counts, redrawn and added back.

`counts` is [worker, observed, true] and `total` [worker, true], both without their priors: whole numbers are added and
subtracted without rounding, so that ten thousand sweeps leave no drift.
"""

from __future__ import annotations

from math import exp, lgamma, log
from typing import Any, NamedTuple

import numpy as np
from numba import njit

_BLOCK = 16


class GibbsVotes(NamedTuple):
    """Rows sorted by task. `weight` and `before` (that of the worker's earlier rows on the task) are empty when every
    worker has one vote of weight one per task."""

    offset: Any
    cell: Any
    worker: Any
    label: Any
    weight: Any
    before: Any


class Prior(NamedTuple):
    """Pseudo-counts: cells[observed · K + true], rows[true] (their sums), and classes, the same for each class."""

    cells: Any
    rows: Any
    classes: float


class State(NamedTuple):
    """z[task], its counts without the prior (counts, total, mass), and q[task, class], the sums of conditionals."""

    z: Any
    counts: Any
    total: Any
    mass: Any
    q: Any


@njit(cache=True, nogil=True, error_model="numpy")
def _move(rows, cell, worker, weight, counts, total, z, K, sign):
    """Add or subtract (`sign`) the votes of one task under its class z."""
    for e in range(rows[0], rows[1]):
        w = sign * (weight[e] if weight.size else 1.0)
        counts[np.int64(cell[e]) * K + z] += w
        total[np.int64(worker[e]) * K + z] += w


@njit(cache=True, nogil=True, error_model="numpy")
def _products(first, last, votes, priors, state, s, below, logs):
    """Multiply s[k] by p(votes | k, the other tasks) up to a factor; one vote per worker and task: plain ratios.

    For at most one block of votes, s holds the product itself. Return the logarithm of the factor divided out.
    """
    cell, worker, label, counts, total = votes.cell, votes.worker, votes.label, state.counts, state.total
    prior, row_prior = priors.cells, priors.rows
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
    """Set s = exp(logs - max(logs)) and return the maximum."""
    top = logs.max()
    for k in range(s.size):
        s[k] = exp(logs[k] - top)
    return top


@njit(cache=True, nogil=True, error_model="numpy")
def _rising(first, last, votes, priors, state, s, logs):
    """Like `_products` for weighted or several votes of one worker on a task: rising factorials instead of ratios."""
    cell, worker, label, weight, before = votes.cell, votes.worker, votes.label, votes.weight, votes.before
    counts, total, prior, row_prior = state.counts, state.total, priors.cells, priors.rows
    K = s.size
    for k in range(K):
        logs[k] = log(s[k])
    for e in range(first, last):
        start, base, line = np.int64(cell[e]) * K, np.int64(worker[e]) * K, np.int64(label[e]) * K
        for k in range(K):
            # max: adding and subtracting fractional weights may leave -1e-16.
            cell_mass = max(counts[start + k], 0.0) + prior[line + k]
            row_mass = max(total[base + k], 0.0) + row_prior[k] + before[e]
            logs[k] += lgamma(cell_mass + weight[e]) - lgamma(cell_mass)
            logs[k] -= lgamma(row_mass + weight[e]) - lgamma(row_mass)
    return _exponentials(logs, s)


@njit(cache=True, nogil=True, error_model="numpy")
def gibbs_sweep(free, uniform, votes, prior, state):
    """Make one sweep over the free tasks with one uniform random number each; q[task] += its conditional.

    Return Σ log p(a task's votes | all other votes).
    """
    cell, worker, weight = votes.cell, votes.worker, votes.weight
    offset, z, counts, total, mass, q = votes.offset, state.z, state.counts, state.total, state.mass, state.q
    prior_class = prior.classes
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
            top = _rising(first, last, votes, prior, state, s, logs)
        else:
            top = _products(first, last, votes, prior, state, s, below, logs)
        norm = s.sum()
        score += top + log(norm / tasks_mass)
        remainder = uniform[j] * norm
        drawn = K - 1
        for k in range(K):
            q[i, k] += s[k] / norm
            if remainder >= 0.0:
                remainder -= s[k]
                if remainder < 0.0:
                    drawn = k
        z[i] = drawn
        mass[drawn] += 1.0
        _move(rows, cell, worker, weight, counts, total, drawn, K, 1.0)
    return score


__all__: list[str] = ["GibbsVotes", "Prior", "State", "gibbs_sweep"]
