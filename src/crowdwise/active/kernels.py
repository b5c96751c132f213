"""Kernels of live labelling: incremental EM, an index of tasks by priority, and the state of one task.

A task's answers are a linked list: `head[task]` is its first edge, `after[edge]` the next one, -1 the end. Tables of
counts are [worker, observed, true] as in the batch kernels; `totals` are the counts summed over what was observed.
`counted[edge]` tells whether the edge's expected counts are in the tables yet.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

_LEAST = 1e-18


@njit(cache=True, nogil=True, error_model="numpy")
def e_step(task, chain, edges, weight, counts, totals, prior, prior_totals, class_prior, q, leave_out, out):
    """out[class] = P(class | answers of the task); with `leave_out`, the task's own part of the counts is left out."""
    head, after, counted = chain
    edge_worker, edge_label = edges
    k_all = len(out)
    for k in range(k_all):
        out[k] = log(class_prior[k])
    e = head[task]
    while e >= 0:
        w, observed, vote_weight = edge_worker[e], edge_label[e], weight[e]
        own_weight = vote_weight if leave_out and counted[e] else 0.0
        for k in range(k_all):
            own_share = own_weight * q[task, k]
            part = counts[w, observed, k] + prior[observed, k] - own_share
            whole = totals[w, k] + prior_totals[k] - own_share
            out[k] += vote_weight * log(max(part, _LEAST) / max(whole, _LEAST))
        e = after[e]
    top = out[0]
    for k in range(1, k_all):
        top = max(top, out[k])
    norm = 0.0
    for k in range(k_all):
        out[k] = exp(out[k] - top)
        norm += out[k]
    for k in range(k_all):
        out[k] /= norm


@njit(cache=True, nogil=True, error_model="numpy")
def book(task, chain, edges, weight, counts, totals, mass, right, q, new, p_right, prior, prior_totals):
    """Replace q[task] by `new` in all tables; p_right[edge] is the probability that the worker is right by the others'
    answers.
    """
    head, after, counted = chain
    edge_worker, edge_label = edges
    k_all = len(new)
    booked = False
    e = head[task]
    while e >= 0:
        w, observed, vote_weight = edge_worker[e], edge_label[e], weight[e]
        old = 1.0 if counted[e] else 0.0
        booked = booked or counted[e]
        norm, hit = 0.0, 0.0
        for k in range(k_all):
            theta = (counts[w, observed, k] + prior[observed, k]) / (totals[w, k] + prior_totals[k])
            without = new[k] / max(theta, _LEAST) ** vote_weight
            norm += without
            if k == observed:
                hit = without
        for k in range(k_all):
            step = vote_weight * (new[k] - old * q[task, k])
            counts[w, observed, k] += step
            totals[w, k] += step
        hit = hit / norm if norm > 0 else 0.0
        right[w] += hit - (p_right[e] if counted[e] else 0.0)
        p_right[e] = hit
        counted[e] = True
        e = after[e]
    for k in range(k_all):
        mass[k] += new[k] - (q[task, k] if booked else 0.0)
        q[task, k] = new[k]


@njit(cache=True, nogil=True, error_model="numpy")
def class_shares(mass, prior_class, out):
    """Class frequencies including the pseudo-tasks."""
    total = 0.0
    for k in range(len(mass)):
        out[k] = max(mass[k], 0.0) + prior_class
        total += out[k]
    for k in range(len(mass)):
        out[k] = out[k] / total if total > 0 else 1.0 / len(mass)
        out[k] = max(out[k], 1e-300)


@njit(cache=True, nogil=True, error_model="numpy")
def absorb(task, gold, chain, edges, weight, tables, prior, prior_totals, prior_class, q, p_right):
    """Update the posterior of one task and all tables; return the largest change of the posterior."""
    counts, totals, mass, right = tables
    k_all = q.shape[1]
    new, shares = np.empty(k_all), np.empty(k_all)
    if gold[task] >= 0:
        new[:] = 0.0
        new[gold[task]] = 1.0
    else:
        class_shares(mass, prior_class, shares)
        e_step(task, chain, edges, weight, counts, totals, prior, prior_totals, shares, q, False, new)
    change = 0.0
    for k in range(k_all):
        change = max(change, abs(new[k] - q[task, k]))
    book(task, chain, edges, weight, counts, totals, mass, right, q, new, p_right, prior, prior_totals)
    return change


@njit(cache=True, nogil=True)
def put(task, worker, label, vote_weight, edge, chain, edges, weight, tables, q, p_right, n, n_answered):
    """Enter an answer, without counting it, at `edge` if it is the worker's first; return the label that it replaces,
    or -1.
    """
    head, after, counted = chain
    edge_worker, edge_label = edges
    counts, totals, right = tables[0], tables[1], tables[3]
    e = find(task, worker, head, after, edge_worker)[0]
    earlier = -1
    if e < 0:
        e = edge
        after[e], head[task], edge_worker[e] = head[task], e, worker
        n[task] += 1
        n_answered[worker] += 1
    else:
        earlier = edge_label[e]
        if counted[e]:
            for k in range(q.shape[1]):
                step = weight[e] * q[task, k]
                counts[worker, earlier, k] -= step
                totals[worker, k] -= step
            right[worker] -= p_right[e]
            if n[task] == 1:  # without another answer `book` does not see that the task is in the class mass
                for k in range(q.shape[1]):
                    tables[2][k] -= q[task, k]
    edge_label[e], weight[e], counted[e] = label, vote_weight, False
    return earlier


@njit(cache=True, nogil=True, error_model="numpy")
def enter(task, worker, label, vote_weight, edge, gold, chain, edges, weight, tables, prior, prior_totals, prior_class,
          q, p_right, n, n_answered):  # fmt: skip
    """`put` and `absorb` in one call."""
    earlier = put(task, worker, label, vote_weight, edge, chain, edges, weight, tables, q, p_right, n, n_answered)
    absorb(task, gold, chain, edges, weight, tables, prior, prior_totals, prior_class, q, p_right)
    return earlier


@njit(cache=True, nogil=True, error_model="numpy")
def set_posterior(tasks, posterior, n, gold, chain, edges, weight, tables, prior, prior_totals, q, p_right):
    """Set the posteriors of `tasks` to posterior[i, class] if they have answers; gold stays."""
    counts, totals, mass, right = tables
    for i in range(len(tasks)):
        if n[tasks[i]] and gold[tasks[i]] < 0:
            book(
                tasks[i],
                chain,
                edges,
                weight,
                counts,
                totals,
                mass,
                right,
                q,
                posterior[i],
                p_right,
                prior,
                prior_totals,
            )


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(n_tasks, gold, chain, edges, weight, tables, prior, prior_totals, prior_class, q, p_right):
    """`absorb` every task with answers in order; return the largest change."""
    change = 0.0
    for task in range(n_tasks):
        if chain[0][task] >= 0:
            task_change = absorb(task, gold, chain, edges, weight, tables, prior, prior_totals, prior_class, q, p_right)
            change = max(change, task_change)
    return change


@njit(cache=True, nogil=True, error_model="numpy")
def without_own(n_tasks, gold, chain, edges, weight, tables, prior, prior_totals, prior_class, q, first, out):
    """Posteriors of `n_tasks` tasks from `first` on under tables without their own answers."""
    shares = np.empty(q.shape[1])
    class_shares(tables[2], prior_class, shares)
    for i in range(n_tasks):
        cautious(first + i, gold, chain, edges, weight, tables, prior, prior_totals, shares, q, out[i])


@njit(cache=True, nogil=True, error_model="numpy")
def cautious(task, gold, chain, edges, weight, tables, prior, prior_totals, shares, q, out):
    """Posterior of one task under tables without its own answers, given the class frequencies."""
    if gold[task] >= 0:
        out[:] = 0.0
        out[gold[task]] = 1.0
    elif chain[0][task] < 0:
        out[:] = shares
    else:
        e_step(task, chain, edges, weight, tables[0], tables[1], prior, prior_totals, shares, q, True, out)


@njit(cache=True, nogil=True)
def find(task, worker, head, after, edge_worker):
    """Return (edge of this worker's answer, the edge before it), -1 if there is none."""
    before, e = -1, head[task]
    while e >= 0:
        if edge_worker[e] == worker:
            return e, before
        before, e = e, after[e]
    return -1, before


@njit(cache=True, nogil=True)
def count(task, counts, totals, weight, chain, edges, q, sign):
    """Add (or subtract) the counts of one task's counted answers."""
    head, after, counted = chain
    edge_worker, edge_label = edges
    e = head[task]
    while e >= 0:
        if counted[e]:
            for k in range(q.shape[1]):
                step = sign * weight[e] * q[task, k]
                counts[edge_worker[e], edge_label[e], k] += step
                totals[edge_worker[e], k] += step
        e = after[e]


# ----------------------------------------------------------------
# Kernels of the priority buckets: a permutation of the tasks sorted by bucket (level), in which a task moves by swaps.
# `order` holds the tasks by level, `place` the position of each task, `start[level]` the start of a level; the highest
# level is at the end. A step up or down swaps the task with the one at the border of its level: no sorting, no heap, no
# scan.


@njit(cache=True, nogil=True)
def move(task, to, level, order, place, start):
    """Move a task to another level."""
    at = level[task]
    while at < to:  # swap with the last task of this level, which becomes the first of the next one
        border = start[at + 1] - 1
        _swap(place[task], border, order, place)
        start[at + 1] = border
        at += 1
    while at > to:
        border = start[at]
        _swap(place[task], border, order, place)
        start[at] = border + 1
        at -= 1
    level[task] = to


@njit(cache=True, nogil=True)
def _swap(i, j, order, place):
    a, b = order[i], order[j]
    order[i], order[j] = b, a
    place[a], place[b] = j, i


@njit(cache=True, nogil=True)
def best(n, n_buckets, turn, worker, held, order, start, head, after, edge_worker, most, out):
    """Write into `out` the tasks of the highest levels that `worker` (-1: any) may be given; return their number.

    Within a level the scan starts at a random place (`turn`, 0 to 1). Level 0 is closed. Tasks that the worker has
    answered, or holds, are skipped; the scan ends after `most` skipped tasks per task found, if any was found.
    """
    n_found, passed = 0, 0
    for rank in range(n_buckets - 1):
        at = n_buckets - 1 - rank
        lo = start[at]
        hi = start[at + 1] if at + 1 < n_buckets else n
        size = hi - lo
        first = int(turn * size)
        for i in range(size):
            task = order[lo + (first + i) % size]
            free = worker < 0 or find(task, worker, head, after, edge_worker)[0] < 0
            if free and worker >= 0:
                for other in held:
                    free = free and other != task
            if free:
                out[n_found] = task
                n_found += 1
                if n_found == len(out):
                    return n_found
            else:
                passed += 1
                if n_found and passed > most * n_found:
                    return n_found
    return n_found


# ----------------------------------------------------------------
# Kernels of the task index: what an answer or a lease changes for one task, without arrays of length one.
# The codes of rules, reasons and levels are those of `active`, where numpy does the same for all tasks; a test compares
# both.

ENTROPY, MARGIN, DOUBT, CHANCE, TURN = range(5)
_BOARD_LEAST = 1e-300
# Factor of the priority for each worker who holds the task.
HALF = 0.5
# As in stats/gold_calibration.py: bounds of confidence, and minimum lead of the label.
LOWEST, HIGHEST, AHEAD = 0.002, 0.998, 1e-6


@njit(cache=True, nogil=True)
def _entropy(p):
    total = 0.0
    for k in range(len(p)):
        total -= p[k] * log(max(p[k], _BOARD_LEAST))
    return total


@njit(cache=True, nogil=True)
def priority(rule, q, n):
    """Priority of a task with posterior q[class] and n answers, between 0 and 1."""
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
def relevel(task, rule, cap, n_buckets, posterior, busy, n, reason, index):
    """Move a task to the level of its priority, halved for each worker who holds it; level 0 is closed."""
    level, order, place, start = index
    to = np.int64(0)
    if reason[task] == 0 and (cap < 0 or n[task] + busy[task] < cap):
        share = priority(rule, posterior[task], n[task]) * HALF ** busy[task]
        to = 1 + np.int64(np.rint(min(max(share, 0.0), 1.0) * (n_buckets - 2)))
    move(task, to, level, order, place, start)


@njit(cache=True, nogil=True)
def look(task, row, rule, stop, reasons, alone, n_buckets, gold, posterior, busy, n, reason, index):
    """Set the posterior of a task, its reason to stop and its level; return (confidence before, after, label changed).

    `stop` is (target, fewest, cap, -1 without), `reasons` the codes of (sure, cap, nobody, gold); `alone`: no worker is
    left for it.
    """
    target, fewest, cap = stop
    first, second = 0, 0
    for k in range(len(row)):
        first = k if posterior[task, k] > posterior[task, first] else first
        second = k if row[k] > row[second] else second
    before, after = posterior[task, first], row[second]
    posterior[task] = row
    stop_reason = 0
    if gold[task] >= 0:
        stop_reason = reasons[3]
    elif after >= target and n[task] >= fewest:
        stop_reason = reasons[0]
    elif cap >= 0 and n[task] >= cap:
        stop_reason = reasons[1]
    elif alone:
        stop_reason = reasons[2]
    reason[task] = stop_reason
    relevel(task, rule, cap, n_buckets, posterior, busy, n, reason, index)
    return before, after, first != second


@njit(cache=True, nogil=True)
def calibrate(row, slope, shift, centre):
    """Calibrate the posterior of one task in place; a tie stays as it is. `GoldCalibration.apply` for one row."""
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
    clipped = min(max(top, LOWEST), HIGHEST)
    x = log(clipped / (1 - clipped))
    remainder = max(1 - top, 1e-12)
    ratio = second / remainder
    new = 1 / (1 + exp(-(x + slope * (x - centre) + shift)))
    new = min(max(new, ratio / (1 + ratio) + AHEAD), 1.0)
    total = 0.0
    for k in range(len(row)):
        row[k] = new if k == first else row[k] * (1 - new) / remainder
        total += row[k]
    for k in range(len(row)):
        row[k] /= total


@njit(cache=True, nogil=True, error_model="numpy")
def follow(task, calibration, rule, stop, reasons, alone, n_buckets, gold, beliefs, posterior, busy, n, reason, index):
    """`look` with the model's current posterior; `beliefs` are its tables.

    `calibration` is whether there is one, its slope, shift and centre.
    """
    chain, edges, weight, tables, prior, prior_totals, prior_class, q = beliefs
    row, shares = np.empty(q.shape[1]), np.empty(q.shape[1])
    class_shares(tables[2], prior_class, shares)
    cautious(task, gold, chain, edges, weight, tables, prior, prior_totals, shares, q, row)
    there, slope, shift, centre = calibration
    if there and gold[task] < 0 and n[task] > 0:
        calibrate(row, slope, shift, centre)
    return look(task, row, rule, stop, reasons, alone, n_buckets, gold, posterior, busy, n, reason, index)


@njit(cache=True, nogil=True)
def weigh(tasks, worker, rule, posterior, busy, n, counts, totals, prior, prior_totals, out):
    """Write into `out` the positions in `tasks` of those with the highest score; return their number.

    The score is the expected information of an answer of this worker, or (worker -1) the priority of the rule; halved
    for each worker who holds the task.
    """
    k_all = posterior.shape[1]
    theta, noise = np.empty((k_all, k_all)), np.zeros(k_all)
    if worker >= 0:
        for observed in range(k_all):
            for k in range(k_all):
                p = (counts[worker, observed, k] + prior[observed, k]) / (totals[worker, k] + prior_totals[k])
                theta[observed, k] = p
                noise[k] -= p * log(max(p, _BOARD_LEAST))
    best, ties = -1.0, 0
    for i in range(len(tasks)):
        task = tasks[i]
        if worker < 0:
            score = priority(rule, posterior[task], n[task])
        else:
            score = 0.0
            for observed in range(k_all):
                mix = 0.0
                for k in range(k_all):
                    mix += posterior[task, k] * theta[observed, k]
                score -= mix * log(max(mix, _BOARD_LEAST)) + posterior[task, observed] * noise[observed]
            score = max(score, 0.0)
        score *= HALF ** busy[task]
        if score > best:
            best, ties = score, 0
        if score == best:
            out[ties] = i
            ties += 1
    return ties
