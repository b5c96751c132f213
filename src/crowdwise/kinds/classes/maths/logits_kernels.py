"""The pass under worker and task logits in numba; see kinds/classes/maths/minimax.py, which says what it computes."""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(offset, who, label, weight, worker, task, gold, given, q, slope, bend, task_slope, task_bend, p):
    """Fills q and the tasks' gradients, adds to the workers'; returns the log-likelihood.

    `task`, `given`, `gold` and `weight` are empty where there are none; p[label of a task, true, observed] is room.
    """
    K = q.shape[1]
    logs, none = np.empty(K), np.empty((0, 0))
    total = 0.0
    for i in range(q.shape[0]):
        s = q[i]
        s[:] = -log(K)
        for e in range(offset[i], offset[i + 1]):
            w = weight[e] if weight.size else 1.0
            _softmax(worker[who[e]], task[i] if task.size else none, label[e], p[e - offset[i]], logs)
            for k in range(K):
                s[k] += w * logs[k]
        total += _judge(s, gold[i] if gold.size else K, given[i] if given.size else logs[:0])
        for e in range(offset[i], offset[i + 1]):
            w = weight[e] if weight.size else 1.0
            here, up, down = p[e - offset[i]], slope[who[e]], bend[who[e]]
            for k in range(K):
                share = w * s[k]
                up[k, label[e]] += share
                if task.size:
                    task_slope[i, k, label[e]] += share
                for c in range(K):
                    expected = share * here[k, c]
                    curve = expected - expected * here[k, c]
                    up[k, c] -= expected
                    down[k, c] += curve
                    if task.size:
                        task_slope[i, k, c] -= expected
                        task_bend[i, k, c] += curve
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _softmax(own, extra, said, p, logs):
    """p[true, observed] of one label, and the log-probability of what was said under each true class."""
    K = logs.size
    for k in range(K):
        top = -np.inf
        for c in range(K):
            p[k, c] = own[k, c] + extra[k, c] if extra.size else own[k, c]
            top = max(top, p[k, c])
        logs[k] = p[k, said] - top
        norm = 0.0
        for c in range(K):
            p[k, c] = exp(p[k, c] - top)
            norm += p[k, c]
        for c in range(K):
            p[k, c] /= norm
        logs[k] -= log(norm)


@njit(cache=True, nogil=True, error_model="numpy")
def _judge(s, gold, given):
    """Turns the scores of a task into its posterior (the one given, or gold's), and returns the task's value."""
    K = s.size
    if given.size:
        value = 0.0
        for k in range(K):
            value += given[k] * s[k]
            s[k] = given[k]
        return value
    if gold < K:
        value = s[gold]
        s[:] = 0.0
        s[gold] = 1.0
        return value
    top = s.max()
    norm = 0.0
    for k in range(K):
        s[k] = exp(s[k] - top)
        norm += s[k]
    for k in range(K):
        s[k] /= norm
    return top + log(norm)


__all__: list[str] = ["sweep"]
