"""The kernels of the board: what one answer or one lease changes of one task, without arrays of length one.

The numbers of rules, reasons and levels are those of `active`; what is done here for one task is done there by numpy
for all of them, and a test holds the two together.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

from .levels import move
from .live import cautious, class_shares

ENTROPY, MARGIN, DOUBT, CHANCE, TURN = range(5)
_LEAST = 1e-300
# A task in somebody's hand counts as half-answered.
HALF = 0.5
# As in maths/trust/gold_calibration.py: bounds of confidence, and by how much the label stays ahead.
LOWEST, HIGHEST, AHEAD = 0.002, 0.998, 1e-6


@njit(cache=True, nogil=True)
def _entropy(p):
    total = 0.0
    for k in range(len(p)):
        total -= p[k] * log(max(p[k], _LEAST))
    return total


@njit(cache=True, nogil=True)
def priority(rule, q, n):
    """Of one task with posterior q[class] and n answers, between 0 and 1."""
    if rule == ENTROPY:
        return _entropy(q) / log(max(len(q), 2))
    if rule == CHANCE:
        return 1.0
    if rule == TURN:
        return 1.0 / (1.0 + n)
    first, second = q[0], -1.0
    for k in range(1, len(q)):
        if q[k] > first:
            first, second = q[k], first
        elif q[k] > second:
            second = q[k]
    if rule == DOUBT:
        return 1 - first
    return 1 - (first - second) if len(q) > 1 else 0.0


@njit(cache=True, nogil=True)
def relevel(task, rule, cap, n_levels, believed, busy, n, reason, index):
    """Bring a task to the level of its priority, halved for each one who has it in hand; level 0 is closed."""
    level, order, place, start = index
    to = np.int64(0)
    if reason[task] == 0 and (cap < 0 or n[task] + busy[task] < cap):
        share = priority(rule, believed[task], n[task]) * HALF ** busy[task]
        to = 1 + np.int64(np.rint(min(max(share, 0.0), 1.0) * (n_levels - 2)))
    move(task, to, level, order, place, start)


@njit(cache=True, nogil=True)
def look(task, row, rule, stop, reasons, alone, n_levels, gold, believed, busy, n, reason, index):
    """Take over what is believed of a task: how sure it was, and is, and whether its label changed; its reason to stop
    and its level follow.

    `stop` is (target, fewest, cap, -1 without), `reasons` the numbers of (sure, cap, nobody, gold); `alone`: nobody is
    left to be asked about it.
    """
    target, fewest, cap = stop
    first, second = 0, 0
    for k in range(len(row)):
        first = k if believed[task, k] > believed[task, first] else first
        second = k if row[k] > row[second] else second
    before, after = believed[task, first], row[second]
    believed[task] = row
    why = 0
    if gold[task] >= 0:
        why = reasons[3]
    elif after >= target and n[task] >= fewest:
        why = reasons[0]
    elif cap >= 0 and n[task] >= cap:
        why = reasons[1]
    elif alone:
        why = reasons[2]
    reason[task] = why
    relevel(task, rule, cap, n_levels, believed, busy, n, reason, index)
    return before, after, first != second


@njit(cache=True, nogil=True)
def calibrate(row, slope, shift, centre):
    """The calibrated posterior of one task, in place; a tie stays as it is. `GoldCalibration.apply` for one row."""
    first = 0
    for k in range(len(row)):
        first = k if row[k] > row[first] else first
    top, second, ties = row[first], -1.0, 0
    for k in range(len(row)):
        ties += row[k] >= top - 1e-12
        if k != first and row[k] > second:
            second = row[k]
    if ties > 1 or second < 0:
        return
    kept = min(max(top, LOWEST), HIGHEST)
    x = log(kept / (1 - kept))
    rest = max(1 - top, 1e-12)
    ratio = second / rest
    new = 1 / (1 + exp(-(x + slope * (x - centre) + shift)))
    new = min(max(new, ratio / (1 + ratio) + AHEAD), 1.0)
    total = 0.0
    for k in range(len(row)):
        row[k] = new if k == first else row[k] * (1 - new) / rest
        total += row[k]
    for k in range(len(row)):
        row[k] /= total


@njit(cache=True, nogil=True, error_model="numpy")
def follow(task, calibration, rule, stop, reasons, alone, n_levels, gold, beliefs, believed, busy, n, reason, index):
    """`look` at what the model believes now; `beliefs` are its tables. `calibration`: whether there is one, its slope,
    shift and centre."""
    chain, edges, weight, tables, prior, prior_totals, prior_class, q = beliefs
    row, shares = np.empty(q.shape[1]), np.empty(q.shape[1])
    class_shares(tables[2], prior_class, shares)
    cautious(task, gold, chain, edges, weight, tables, prior, prior_totals, shares, q, row)
    there, slope, shift, centre = calibration
    if there and gold[task] < 0 and n[task] > 0:
        calibrate(row, slope, shift, centre)
    return look(task, row, rule, stop, reasons, alone, n_levels, gold, believed, busy, n, reason, index)


@njit(cache=True, nogil=True)
def weigh(tasks, worker, rule, believed, busy, n, counts, totals, prior, prior_totals, out):
    """The places in `tasks` of those with the highest score, into `out`; how many they are.

    The score is the information that an answer of this worker is expected to bring, or (worker -1) the priority of the
    rule; halved for each one who has the task in hand.
    """
    k_all = believed.shape[1]
    theta, noise = np.empty((k_all, k_all)), np.zeros(k_all)
    if worker >= 0:
        for seen in range(k_all):
            for k in range(k_all):
                p = (counts[worker, seen, k] + prior[seen, k]) / (totals[worker, k] + prior_totals[k])
                theta[seen, k] = p
                noise[k] -= p * log(max(p, _LEAST))
    best, ties = -1.0, 0
    for i in range(len(tasks)):
        task = tasks[i]
        if worker < 0:
            score = priority(rule, believed[task], n[task])
        else:
            score = 0.0
            for seen in range(k_all):
                mix = 0.0
                for k in range(k_all):
                    mix += believed[task, k] * theta[seen, k]
                score -= mix * log(max(mix, _LEAST)) + believed[task, seen] * noise[seen]
            score = max(score, 0.0)
        score *= HALF ** busy[task]
        if score > best:
            best, ties = score, 0
        if score == best:
            out[ties] = i
            ties += 1
    return ties
