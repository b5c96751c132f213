"""The kernels of live labelling: one task's E-step with its counts kept in step, one answer at a time.

A task's answers are a chain: `head[task]` is its first edge, `after[edge]` the next one, -1 the end. Tables of counts
are [worker, observed, true] as in the batch kernels; `totals` are the counts summed over what was observed.
`counted[edge]` says whether the edge's expected counts are in the tables yet.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

_LEAST = 1e-18


@njit(cache=True, nogil=True, error_model="numpy")
def e_step(task, chain, edges, weight, counts, totals, prior, prior_totals, class_prior, q, away, out):
    """out[class] = P(class | answers of the task); with `away`, the task's own part of the counts is left out."""
    head, after, counted = chain
    who, said = edges
    k_all = len(out)
    for k in range(k_all):
        out[k] = log(class_prior[k])
    e = head[task]
    while e >= 0:
        w, seen, much = who[e], said[e], weight[e]
        own = much if away and counted[e] else 0.0
        for k in range(k_all):
            mine = own * q[task, k]
            part = counts[w, seen, k] + prior[seen, k] - mine
            whole = totals[w, k] + prior_totals[k] - mine
            out[k] += much * log(max(part, _LEAST) / max(whole, _LEAST))
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
def book(task, chain, edges, weight, counts, totals, mass, right, q, new, own, prior, prior_totals):
    """Replace q[task] by `new` in all tables; own[edge] is how probable the worker is right by the others' answers."""
    head, after, counted = chain
    who, said = edges
    k_all = len(new)
    booked = False
    e = head[task]
    while e >= 0:
        w, seen, much = who[e], said[e], weight[e]
        old = 1.0 if counted[e] else 0.0
        booked = booked or counted[e]
        norm, hit = 0.0, 0.0
        for k in range(k_all):
            theta = (counts[w, seen, k] + prior[seen, k]) / (totals[w, k] + prior_totals[k])
            without = new[k] / max(theta, _LEAST) ** much
            norm += without
            if k == seen:
                hit = without
        for k in range(k_all):
            step = much * (new[k] - old * q[task, k])
            counts[w, seen, k] += step
            totals[w, k] += step
        hit = hit / norm if norm > 0 else 0.0
        right[w] += hit - (own[e] if counted[e] else 0.0)
        own[e] = hit
        counted[e] = True
        e = after[e]
    for k in range(k_all):
        mass[k] += new[k] - (q[task, k] if booked else 0.0)
        q[task, k] = new[k]


@njit(cache=True, nogil=True, error_model="numpy")
def class_shares(mass, prior_class, out):
    """Class frequencies with their pseudo-tasks."""
    total = 0.0
    for k in range(len(mass)):
        out[k] = max(mass[k], 0.0) + prior_class
        total += out[k]
    for k in range(len(mass)):
        out[k] = out[k] / total if total > 0 else 1.0 / len(mass)
        out[k] = max(out[k], 1e-300)


@njit(cache=True, nogil=True, error_model="numpy")
def absorb(task, gold, chain, edges, weight, tables, prior, prior_totals, prior_class, q, own):
    """One task's E-step under the present tables, booked; the largest change of its posterior."""
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
    book(task, chain, edges, weight, counts, totals, mass, right, q, new, own, prior, prior_totals)
    return change


@njit(cache=True, nogil=True)
def put(task, worker, label, much, edge, chain, edges, weight, tables, q, own, n, seen):
    """Enter an answer, not yet booked, at `edge` where it is the worker's first; the label that it replaces, or -1."""
    head, after, counted = chain
    who, said = edges
    counts, totals, right = tables[0], tables[1], tables[3]
    e = find(task, worker, head, after, who)[0]
    earlier = -1
    if e < 0:
        e = edge
        after[e], head[task], who[e] = head[task], e, worker
        n[task] += 1
        seen[worker] += 1
    else:
        earlier = said[e]
        if counted[e]:
            for k in range(q.shape[1]):
                step = weight[e] * q[task, k]
                counts[worker, earlier, k] -= step
                totals[worker, k] -= step
            right[worker] -= own[e]
            if n[task] == 1:  # no other answer tells `book` that the task is in the mass of the classes
                for k in range(q.shape[1]):
                    tables[2][k] -= q[task, k]
    said[e], weight[e], counted[e] = label, much, False
    return earlier


@njit(cache=True, nogil=True, error_model="numpy")
def enter(task, worker, label, much, edge, gold, chain, edges, weight, tables, prior, prior_totals, prior_class, q, own,
          n, seen):  # fmt: skip
    """`put`, then `absorb`: one call where each answer would need two."""
    earlier = put(task, worker, label, much, edge, chain, edges, weight, tables, q, own, n, seen)
    absorb(task, gold, chain, edges, weight, tables, prior, prior_totals, prior_class, q, own)
    return earlier


@njit(cache=True, nogil=True, error_model="numpy")
def believe(tasks, posterior, n, gold, chain, edges, weight, tables, prior, prior_totals, q, own):
    """Book posterior[i, class] as what is believed of tasks[i], where it has answers; gold stays."""
    counts, totals, mass, right = tables
    for i in range(len(tasks)):
        if n[tasks[i]] and gold[tasks[i]] < 0:
            book(tasks[i], chain, edges, weight, counts, totals, mass, right, q, posterior[i], own, prior, prior_totals)


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(n_tasks, gold, chain, edges, weight, tables, prior, prior_totals, prior_class, q, own):
    """`absorb` for every task that has answers, in their order; the largest change."""
    change = 0.0
    for task in range(n_tasks):
        if chain[0][task] >= 0:
            moved = absorb(task, gold, chain, edges, weight, tables, prior, prior_totals, prior_class, q, own)
            change = max(change, moved)
    return change


@njit(cache=True, nogil=True, error_model="numpy")
def without_own(n_tasks, gold, chain, edges, weight, tables, prior, prior_totals, prior_class, q, first, out):
    """The posteriors of `n_tasks` tasks from `first` on under tables that do not hold their own answers."""
    shares = np.empty(q.shape[1])
    class_shares(tables[2], prior_class, shares)
    for i in range(n_tasks):
        cautious(first + i, gold, chain, edges, weight, tables, prior, prior_totals, shares, q, out[i])


@njit(cache=True, nogil=True, error_model="numpy")
def cautious(task, gold, chain, edges, weight, tables, prior, prior_totals, shares, q, out):
    """The same of one task, under these class frequencies."""
    if gold[task] >= 0:
        out[:] = 0.0
        out[gold[task]] = 1.0
    elif chain[0][task] < 0:
        out[:] = shares
    else:
        e_step(task, chain, edges, weight, tables[0], tables[1], prior, prior_totals, shares, q, True, out)


@njit(cache=True, nogil=True)
def find(task, worker, head, after, who):
    """(edge of this worker's answer, the edge before it), -1 where there is none."""
    before, e = -1, head[task]
    while e >= 0:
        if who[e] == worker:
            return e, before
        before, e = e, after[e]
    return -1, before


@njit(cache=True, nogil=True)
def count(task, counts, totals, weight, chain, edges, q, sign):
    """Add (or take away) the counts of one task's booked answers."""
    head, after, counted = chain
    who, said = edges
    e = head[task]
    while e >= 0:
        if counted[e]:
            for k in range(q.shape[1]):
                step = sign * weight[e] * q[task, k]
                counts[who[e], said[e], k] += step
                totals[who[e], k] += step
        e = after[e]


# ----------------------------------------------------------------
# The kernels of an index of tasks by level: one permutation, sorted by level, in which a task moves by swaps.
# `order` holds the tasks by level, `place` where each stands, `start[level]` where a level begins; the highest level
# lies at the end. One step up or down swaps the task with the one at the border of its level: no sorting, no heap, no
# scan.


@njit(cache=True, nogil=True)
def move(task, to, level, order, place, start):
    """Bring a task to another level."""
    at = level[task]
    while at < to:  # change places with the last of this level, which then begins the next one
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
def best(n, n_levels, turn, worker, held, order, start, head, after, who, most, out):
    """The tasks of the highest levels that `worker` (-1: anybody) may be asked, at most len(out) of them.

    Within a level they are taken from a random place on (`turn`, 0 to 1). Level 0 is closed. Tasks that the worker has
    answered, or holds, are passed over; after `most` of them per task found it is enough, once something was found.
    """
    found, passed = 0, 0
    for back in range(n_levels - 1):
        at = n_levels - 1 - back
        lo = start[at]
        hi = start[at + 1] if at + 1 < n_levels else n
        size = hi - lo
        first = int(turn * size)
        for i in range(size):
            task = order[lo + (first + i) % size]
            free = worker < 0 or find(task, worker, head, after, who)[0] < 0
            if free and worker >= 0:
                for other in held:
                    free = free and other != task
            if free:
                out[found] = task
                found += 1
                if found == len(out):
                    return found
            else:
                passed += 1
                if found and passed > most * found:
                    return found
    return found


# ----------------------------------------------------------------
# The kernels of the board: what one answer or one lease changes of one task, without arrays of length one.
# The numbers of rules, reasons and levels are those of `active`; what is done here for one task is done there by
# numpy for all of them, and a test holds the two together.

ENTROPY, MARGIN, DOUBT, CHANCE, TURN = range(5)
_BOARD_LEAST = 1e-300
# A task in somebody's hand counts as half-answered.
HALF = 0.5
# As in stats/gold_calibration.py: bounds of confidence, and by how much the label stays ahead.
LOWEST, HIGHEST, AHEAD = 0.002, 0.998, 1e-6


@njit(cache=True, nogil=True)
def _entropy(p):
    total = 0.0
    for k in range(len(p)):
        total -= p[k] * log(max(p[k], _BOARD_LEAST))
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
                noise[k] -= p * log(max(p, _BOARD_LEAST))
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
                score -= mix * log(max(mix, _BOARD_LEAST)) + believed[task, seen] * noise[seen]
            score = max(score, 0.0)
        score *= HALF ** busy[task]
        if score > best:
            best, ties = score, 0
        if score == best:
            out[ties] = i
            ties += 1
    return ties
