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
