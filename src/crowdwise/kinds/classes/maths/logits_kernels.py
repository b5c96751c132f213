"""Pass over labels under worker and task logits in numba (see kinds/classes/maths/minimax.py for the maths)."""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(offset, worker_of, label, weight, worker, task, gold, target, q, slope, bend, task_slope, task_bend, p):
    """Fill q and the gradients of tasks, add to those of workers; return the log-likelihood.

    `task`, `target` (a given posterior), `gold` and `weight` are empty if there are none; p[label of a task, true,
    observed] is a buffer.
    """
    K = q.shape[1]
    logs, none = np.empty(K), np.empty((0, 0))
    total = 0.0
    for i in range(q.shape[0]):
        s = q[i]
        s[:] = -log(K)
        for e in range(offset[i], offset[i + 1]):
            w = weight[e] if weight.size else 1.0
            _softmax(worker[worker_of[e]], task[i] if task.size else none, label[e], p[e - offset[i]], logs)
            for k in range(K):
                s[k] += w * logs[k]
        total += _task_posterior(s, gold[i] if gold.size else K, target[i] if target.size else logs[:0])
        for e in range(offset[i], offset[i + 1]):
            w = weight[e] if weight.size else 1.0
            probability, gradient, curvature = p[e - offset[i]], slope[worker_of[e]], bend[worker_of[e]]
            for k in range(K):
                share = w * s[k]
                gradient[k, label[e]] += share
                if task.size:
                    task_slope[i, k, label[e]] += share
                for c in range(K):
                    expected = share * probability[k, c]
                    curve = expected - expected * probability[k, c]
                    gradient[k, c] -= expected
                    curvature[k, c] += curve
                    if task.size:
                        task_slope[i, k, c] -= expected
                        task_bend[i, k, c] += curve
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _softmax(worker, task, observed, p, logs):
    """Compute p[true, observed] of one label, and the log-probability of the observed label given each true class."""
    K = logs.size
    for k in range(K):
        top = -np.inf
        for c in range(K):
            p[k, c] = worker[k, c] + task[k, c] if task.size else worker[k, c]
            top = max(top, p[k, c])
        logs[k] = p[k, observed] - top
        norm = 0.0
        for c in range(K):
            p[k, c] = exp(p[k, c] - top)
            norm += p[k, c]
        for c in range(K):
            p[k, c] /= norm
        logs[k] -= log(norm)


@njit(cache=True, nogil=True, error_model="numpy")
def _task_posterior(s, gold, target):
    """Turn the scores of a task into its posterior (or the given target, or gold), and return the task's value."""
    K = s.size
    if target.size:
        value = 0.0
        for k in range(K):
            value += target[k] * s[k]
            s[k] = target[k]
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
