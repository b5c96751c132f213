"""The pass over numeric answers in numba (see maths/numbers/passes.py for the maths and the plain version)."""

from __future__ import annotations

from math import isnan, log, nan, pi

from numba import njit

_LOG_2PI = log(2 * pi)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_task(tasks, y, v, precision, fixed, mu, p):
    """What a task adds to the sums over tasks: how many, y, y², the log of its evidence."""
    tasks[0] += 1.0
    tasks[1] += y
    tasks[2] += y * y + v
    if not fixed:
        tasks[3] += 0.5 * (_LOG_2PI - log(precision))
    if p > 0:
        tasks[3] += 0.5 * (log(p) - _LOG_2PI - p * (y - mu) ** 2)


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(offset, worker, value, weight, gold, table, mu, p, mean, variance, sums, tasks):
    """Without slopes: table[worker] is precision, bias; sums[worker] gathers gap, gap², v."""
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
    """With slopes: table[worker] is A, B, C, s, b; sums[worker] gathers gap, gap², v, gap y, y, y²."""
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
