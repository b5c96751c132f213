"""Compiled passes over comparisons; see maths/models.py for the models and the plain versions."""

from __future__ import annotations

from math import exp, log

from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def crowd_pass(left, right, share, worker, weight, score, eta, items, workers):
    """Add gradient and curvature of CrowdBT to items and workers; return the log-likelihood."""
    total = 0.0
    for e in range(left.size):
        i, j, m = left[e], right[e], worker[e]
        w, y, h = weight[e], share[e], eta[m]
        s = 1.0 / (1.0 + exp(score[j] - score[i]))
        p = h * s + (1.0 - h) * (1.0 - s)
        p = min(max(p, 1e-300), 1.0 - 1e-16)
        q = max(1.0 - p, 1e-300)
        if y == 1.0:
            total += w * log(p)
            turn = w / p
        elif y == 0.0:
            total += w * log(q)
            turn = -w / q
        else:
            total += w * (y * log(p) + (1.0 - y) * log(q))
            turn = w * (y / p - (1.0 - y) / q)
        slope = (2.0 * h - 1.0) * s * (1.0 - s)
        lean = 2.0 * s - 1.0
        info = w / (p * q)
        g, c = turn * slope, info * slope * slope
        items[i, 0] += g
        items[j, 0] -= g
        items[i, 1] += c
        items[j, 1] += c
        workers[m, 0] += turn * lean
        workers[m, 1] += info * lean * lean
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def davidson_pass(left, right, outcome, worker, weight, score, slope, position, tie, items, workers):
    """Add gradients and curvatures of Davidson's model to items and workers; return the log-likelihood.

    `tie` is the exponential of the worker's log-odds of a tie.
    """
    total = 0.0
    for e in range(left.size):
        i, j, m = left[e], right[e], worker[e]
        w, b = weight[e], slope[m]
        d = score[i] - score[j]
        a = 0.5 * (b * d + position[m])
        up = exp(min(max(a, -300.0), 300.0))
        down, t = 1.0 / up, tie[m]
        sum_ = up + down + t
        p, q, r = up / sum_, down / sum_, t / sum_
        o = outcome[e]
        if o == 0:
            side = 1.0
            total += w * log(max(p, 1e-300))
        elif o == 1:
            side = -1.0
            total += w * log(max(q, 1e-300))
        else:
            side = 0.0
            total += w * log(max(r, 1e-300))
        ga = w * (side - (p - q))
        ia = w * (p + q - (p - q) * (p - q))
        gd, hd = 0.5 * ga * b, 0.25 * ia * b * b
        items[i, 0] += gd
        items[j, 0] -= gd
        items[i, 1] += hd
        items[j, 1] += hd
        workers[m, 0] += 0.5 * ga * d
        workers[m, 1] += 0.25 * ia * d * d
        workers[m, 2] += 0.5 * ga
        workers[m, 3] += 0.25 * ia
        workers[m, 4] += w * ((1.0 if o == 2 else 0.0) - r)
        workers[m, 5] += w * r * (1.0 - r)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def elo_pass(left, right, share, weight, score, step):
    """Update the scores in place, game by game."""
    for e in range(left.size):
        i, j = left[e], right[e]
        move = step * weight[e] * (share[e] - 1.0 / (1.0 + exp(score[j] - score[i])))
        score[i] += move
        score[j] -= move
