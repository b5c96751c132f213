"""Numba kernels: one round of belief propagation (see maths/beliefs.py) and the Gaussian pass (see maths/passes.py).

Products over the answers of a task are accumulated from both ends, so that leaving one answer out needs no division.
Each product is rescaled to a maximum of one and each message is floored, which prevents underflow.
"""

from __future__ import annotations

from math import isnan, log, nan, pi

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
def round_(offset, pattern, table, weights, prior, grid, stale, tiny, mean, variance, log_g):
    """Update mean, variance and log_g[edge, variance] of the tasks marked as stale."""
    G, S = grid.size, weights.shape[1]
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
                w = weights[e, s]
                likelihood = table[pattern[e], s]
                for g in range(G):
                    row[g] += w * likelihood[g]
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
                likelihood = table[pattern[e], s]
                total = 0.0
                for g in range(G):
                    total += cavity[g] * likelihood[g]
                log_g[e, s] = log(max(total, tiny))


__all__: list[str] = ["round_"]

# ----------------------------------------------------------------
# The Gaussian pass over the answers; maths/passes.py has the equations and the numpy version.

_LOG_2PI = log(2 * pi)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_task(tasks, y, v, precision, fixed, mu, p):
    """Add a task to the sums over tasks: count, y, y² and log evidence."""
    tasks[0] += 1.0
    tasks[1] += y
    tasks[2] += y * y + v
    if not fixed:
        tasks[3] += 0.5 * (_LOG_2PI - log(precision))
    if p > 0:
        tasks[3] += 0.5 * (log(p) - _LOG_2PI - p * (y - mu) ** 2)


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(offset, worker, value, weight, gold, table, mu, p, mean, variance, sums, tasks):
    """Pass without slopes: table[worker] is precision, bias; sums[worker] accumulates gap, gap², v."""
    for i in range(mean.size):
        first, last = offset[i], offset[i + 1]
        if first == last:
            mean[i] = nan
            variance[i] = nan
            continue
        precision, pull = p, p * mu
        for e in range(first, last):
            m = worker[e]
            a = table[m, 0] * weight[e] if weight.size else table[m, 0]
            precision += a
            pull += a * (value[e] - table[m, 1])
        fixed = gold.size > 0 and not isnan(gold[i])
        y = gold[i] if fixed else pull / precision
        v = 0.0 if fixed else 1.0 / precision
        for e in range(first, last):
            m = worker[e]
            w = weight[e] if weight.size else 1.0
            gap = value[e] - y - table[m, 1]
            sums[m, 0] += w * gap
            sums[m, 1] += w * gap * gap
            sums[m, 2] += w * v
        mean[i] = y
        variance[i] = v
        _add_task(tasks, y, v, precision, fixed, mu, p)


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_slopes(offset, worker, value, weight, gold, table, mu, p, mean, variance, sums, tasks):
    """Pass with slopes: table[worker] is A, B, C, s, b; sums[worker] accumulates gap, gap², v, gap y, y, y²."""
    for i in range(mean.size):
        first, last = offset[i], offset[i + 1]
        if first == last:
            mean[i] = nan
            variance[i] = nan
            continue
        precision, pull = p, p * mu
        for e in range(first, last):
            m = worker[e]
            w = weight[e] if weight.size else 1.0
            precision += w * table[m, 0]
            pull += w * (table[m, 1] * value[e] - table[m, 2])
        fixed = gold.size > 0 and not isnan(gold[i])
        y = gold[i] if fixed else pull / precision
        v = 0.0 if fixed else 1.0 / precision
        for e in range(first, last):
            m = worker[e]
            w = weight[e] if weight.size else 1.0
            gap = value[e] - table[m, 3] * y - table[m, 4]
            sums[m, 0] += w * gap
            sums[m, 1] += w * gap * gap
            sums[m, 2] += w * v
            sums[m, 3] += w * gap * y
            sums[m, 4] += w * y
            sums[m, 5] += w * y * y
        mean[i] = y
        variance[i] = v
        _add_task(tasks, y, v, precision, fixed, mu, p)
