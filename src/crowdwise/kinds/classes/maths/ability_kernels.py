"""Ability × easiness pass in numba: one loop over task-sorted rows (see ability.py for the maths)."""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(
    offset, worker, label, weight, gold, ability, easiness, q, by_ability, by_easiness, ability_bend, easiness_bend
):
    """Write the posterior to q, derivatives and bends to the last four arrays; return the log-likelihood."""
    K = q.shape[1]
    others = log(K - 1.0)
    total = -q.shape[0] * log(float(K))
    longest = 0
    for i in range(q.shape[0]):
        longest = max(longest, offset[i + 1] - offset[i])
    sigma = np.empty(longest)
    for i in range(q.shape[0]):
        first, last = offset[i], offset[i + 1]
        ease = exp(easiness[i])
        score = q[i]
        score[:] = 0.0
        for e in range(first, last):
            w = weight[e] if weight.size else 1.0
            s = ability[worker[e]] * ease
            if s >= 0:
                small = exp(-s)
                sigma[e - first] = 1.0 / (1.0 + small)
                total -= w * (s + log1p(small) + others)
            else:
                small = exp(s)
                sigma[e - first] = small / (1.0 + small)
                total -= w * (log1p(small) + others)
            score[label[e]] += w * (s + others)
        if gold.size and gold[i] < K:
            total += score[gold[i]]
            score[:] = 0.0
            score[gold[i]] = 1.0
        else:
            top = score[0]
            for k in range(1, K):
                top = max(top, score[k])
            norm = 0.0
            for k in range(K):
                score[k] = exp(score[k] - top)
                norm += score[k]
            total += top + log(norm)
            for k in range(K):
                score[k] /= norm
        task_gradient = 0.0
        task_bend = 0.0
        for e in range(first, last):
            w = weight[e] if weight.size else 1.0
            p = sigma[e - first]
            worker_ability = ability[worker[e]]
            g = w * (score[label[e]] - p) * ease
            h = w * p * (1.0 - p) * ease * ease
            by_ability[worker[e]] += g
            ability_bend[worker[e]] += h
            task_gradient += g * worker_ability
            task_bend += h * worker_ability * worker_ability
        by_easiness[i] = task_gradient
        easiness_bend[i] = task_bend
    return total


__all__: list[str] = ["sweep"]
