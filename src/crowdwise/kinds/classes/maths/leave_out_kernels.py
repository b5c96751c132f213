"""Predict labels from the other labels of their tasks, in numba (see leave_out.py for the maths)."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
from numba import njit

_FLOOR = 1e-6
_WORKER_PRIOR = 2.0
_BLOCK = 16


@njit(cache=True, nogil=True, error_model="numpy")
def predict_kernel(
    offset, worker, label, weight, own_weight, own_same, own_hit, q, counts, total, hits, n, wrong, missed, accuracy,
    wrong_share, pooled, log_prior, mixture, strengths, gold, source, mode, chosen, posterior, curve, scores, longest,
    lo, hi,
):  # fmt: skip
    """Compute posterior, curve and scores of the chosen tasks lo to hi.

    mode 0: the posterior only; 1: also the scores, at power 1; 2: also the scores and the curve over all powers.
    """
    K = log_prior.size
    S = strengths.size
    F = 2 * S
    P = curve.size - 1
    estimates = np.empty((longest, F, K))
    theta = np.empty((longest, K))
    logs = np.empty((longest, K))
    score = np.empty(K)
    block = np.empty(K)
    others = np.empty(K)
    even = np.empty(K)
    odd = np.empty(K)
    prior = np.exp(log_prior)
    p = np.empty(K)
    for i in range(lo, hi):
        if not chosen[i]:
            continue
        first, last = offset[i], offset[i + 1]
        is_gold = gold.size > 0 and gold[i] < K
        n_sources = 0
        for k in range(K):
            score[k] = 0.0
            block[k] = 1.0
        blocked = 0
        for e in range(first, last):
            r = e - first
            w, observed = worker[e], label[e]
            wt = weight[e] if weight.size else 1.0
            own, same = own_weight[e], own_same[e]
            own_accuracy = (hits[w] - own_hit[e] + _WORKER_PRIOR * accuracy) / (n[w] - own + _WORKER_PRIOR)
            miss = same * (1.0 - q[i, observed])
            share = (wrong[w, observed] - miss + _WORKER_PRIOR * wrong_share[observed]) / (
                missed[w] - (own - own_hit[e]) + _WORKER_PRIOR
            )
            for k in range(K):
                theta[r, k] = 0.0
            for f in range(F):
                m = mixture[w, f]
                if mode == 0 and m == 0.0:
                    continue
                s = strengths[f % S]
                if f >= S:
                    base = (1.0 - own_accuracy) * share
                    for k in range(K):
                        top = counts[w, observed, k] - same * q[i, k] + s * base
                        estimates[r, f, k] = top / (total[w, k] - own * q[i, k] + s)
                    top = counts[w, observed, observed] - same * q[i, observed] + s * (base + own_accuracy)
                    estimates[r, f, observed] = top / (total[w, observed] - own * q[i, observed] + s)
                else:
                    for k in range(K):
                        top = counts[w, observed, k] - same * q[i, k] + s * pooled[observed, k]
                        estimates[r, f, k] = top / (total[w, k] - own * q[i, k] + s)
                for k in range(K):
                    theta[r, k] += m * estimates[r, f, k]
            if mode == 0 and wt == 1.0:
                # One logarithm per block of labels: the product of that many floors is within the range of a double.
                for k in range(K):
                    block[k] *= max(theta[r, k], _FLOOR)
                blocked += 1
                if blocked == _BLOCK:
                    blocked = 0
                    for k in range(K):
                        score[k] += log(block[k])
                        block[k] = 1.0
                continue
            for k in range(K):
                theta[r, k] = max(theta[r, k], _FLOOR)
                logs[r, k] = wt * log(theta[r, k])
                score[k] += logs[r, k]
            new = True
            if source.size:
                for o in range(first, e):
                    if source[worker[o]] == source[w]:
                        new = False
                        break
            elif e > first and worker[e - 1] == w:
                new = False
            if new:
                n_sources += 1
        top = -np.inf
        for k in range(K):
            if blocked:
                score[k] += log(block[k])
            top = max(top, score[k] + log_prior[k])
        norm = 0.0
        for k in range(K):
            posterior[i, k] = exp(score[k] + log_prior[k] - top)
            norm += posterior[i, k]
        for k in range(K):
            posterior[i, k] /= norm
        if is_gold:
            for k in range(K):
                posterior[i, k] = 0.0
            posterior[i, gold[i]] = 1.0
        if n_sources < 2 or mode == 0:
            continue
        for e in range(first, last):
            r = e - first
            w = worker[e]
            wt = weight[e] if weight.size else 1.0
            for k in range(K):
                others[k] = score[k] - logs[r, k]
            if source.size:
                for o in range(first, last):
                    if o != e and source[worker[o]] == source[w]:
                        for k in range(K):
                            others[k] -= logs[o - first, k]
            else:
                o = e - 1
                while o >= first and worker[o] == w:
                    for k in range(K):
                        others[k] -= logs[o - first, k]
                    o -= 1
                o = e + 1
                while o < last and worker[o] == w:
                    for k in range(K):
                        others[k] -= logs[o - first, k]
                    o += 1
            top = -np.inf
            for k in range(K):
                top = max(top, others[k])
            start = 0 if mode == 2 else P - 3
            for k in range(K):
                even[k] = exp((0.125 if mode == 2 else 1.0) * (others[k] - top))
                odd[k] = exp(0.125 * sqrt(2.0) * (others[k] - top)) if mode == 2 else 0.0
            curve[P] += wt
            for j in range(start, P if mode == 2 else P - 2):
                norm = 0.0
                hit = 0.0
                for k in range(K):
                    v = (even[k] if j % 2 == 0 else odd[k]) * prior[k]
                    norm += v
                    hit += v * theta[r, k]
                if is_gold:
                    curve[j] += wt * log(max(theta[r, gold[i]], _FLOOR))
                else:
                    curve[j] += wt * log(max(hit / norm, _FLOOR))
                if j == P - 3:  # the power is 1
                    for k in range(K):
                        p[k] = even[k] * prior[k] / norm
                    if is_gold:
                        for k in range(K):
                            p[k] = 0.0
                        p[gold[i]] = 1.0
                    for f in range(F):
                        hit = 0.0
                        for k in range(K):
                            hit += p[k] * estimates[r, f, k]
                        scores[w, f] += wt * log(max(hit, _FLOOR))
                for k in range(K):
                    if j % 2 == 0:
                        even[k] *= even[k]
                    else:
                        odd[k] *= odd[k]
    return 0.0
