"""Rates by group and the gaps between them, from verdicts on all tasks and gold on few, by double sampling in each
cell.

positive P(verdict k | z), recall P(verdict k | true k, z), false P(verdict k | true not k, z),
accuracy P(verdict = true | z)
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.arrays import F8, I8
from ...stats.dirichlet import log_rows
from ..guarantee.estimators import _rows

MEASURES = ("positive", "recall", "false", "accuracy")
LEAST = 10
DRAWS = 4000


def rates(table: F8) -> F8:
    """rate[..., measure, class, group] of table[..., group, verdict, true]; the accuracy is at class 0, NaN
    elsewhere.
    """
    groups, k = table.shape[-3], table.shape[-1]
    total = table.sum(axis=(-2, -1))
    labelled, true = table.sum(axis=-1), table.sum(axis=-2)  # ..., group, class
    hit = np.diagonal(table, axis1=-2, axis2=-1)[..., :k]
    out = np.full((*table.shape[:-3], len(MEASURES), k, groups), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        out[..., 0, :, :] = np.swapaxes(labelled[..., :k] / total[..., None], -1, -2)
        out[..., 1, :, :] = np.swapaxes(hit / true, -1, -2)
        out[..., 2, :, :] = np.swapaxes((labelled[..., :k] - hit) / (total[..., None] - true), -1, -2)
        out[..., 3, 0, :] = hit.sum(axis=-1) / total
    return out


def gold_counts(counts: F8) -> F8:
    """Gold labels behind each rate, gold[measure, class, group], from counts[group, verdict, true]; parity
    needs none.
    """
    k = counts.shape[-1]
    true, total = counts.sum(axis=1).T, counts.sum(axis=(1, 2))
    totals = np.broadcast_to(total, (k, len(total)))
    return np.stack([np.full_like(true, np.inf), true, totals - true, totals])


def points(tasks: F8, counts: F8) -> F8:
    """Double-sampling estimates of the rates from tasks[group, verdict] and gold counts[group, verdict, true]."""
    n = counts.sum(axis=-1, keepdims=True)
    pooled = counts.sum(axis=1, keepdims=True)
    pooled = pooled / np.maximum(pooled.sum(axis=-1, keepdims=True), 1)
    return rates(tasks[..., None] * np.where(n > 0, counts / np.maximum(n, 1), pooled))


def draws(tasks: F8, counts: F8, rng: np.random.Generator, *, new: bool = False, size: int = DRAWS) -> F8:
    """Posterior draws of rates[draw, measure, class, group] for these tasks, or for new ones of their kind."""
    groups, labels, k = counts.shape
    within = _rows((counts + 1 / k).reshape(groups * labels, k), rng, size).reshape(size, groups, labels, k)
    if new:
        shares = _rows(tasks + 0.5, rng, size)
        return rates(shares[..., None] * within)
    unchecked = np.maximum(np.rint(tasks - counts.sum(axis=-1)), 0).astype(np.int64)
    table = rng.multinomial(np.broadcast_to(unchecked, (size, groups, labels)), within)
    return rates(table + counts)


def simultaneous(drawn: F8, level: float) -> tuple[F8, F8]:
    """Simultaneous interval (low, high) of many differences drawn[draw, difference]: mean ± c·sd.

    c comes from the largest |t| of each draw; a single difference gets its plain interval.
    """
    centre, spread = drawn.mean(axis=0), drawn.std(axis=0)
    moving = spread > 1e-12
    if not moving.any():
        return centre, centre.copy()
    largest = (np.abs(drawn[:, moving] - centre[moving]) / spread[moving]).max(axis=1)
    wide = float(np.quantile(largest, level)) * spread
    return centre - wide, centre + wide


# ----------------------------------------------------------------
# Permutation tests of gaps. Groups of tasks are permuted within a worker's true classes; groups of raters by rater.
# Rows of one rater are not independent, so rows are never permuted between raters: on real raters that would report
# differences between random groups in half of the cases.

PERMUTATION_DRAWS = 2000
# Cells per block of permutations: 32 MB.
_CELLS = 4_000_000


def worker_p(hits: I8, n: I8, rng: np.random.Generator, draws: int = PERMUTATION_DRAWS) -> F8:
    """p-value of each worker's recall being the same in all groups of tasks; hits and n are [worker, group, true].

    The statistic is sum_k sum_z n·(r_zk - r_k)², for two groups sum_k (r_1k - r_0k)²/(1/n_1k + 1/n_0k). Hits of a true
    class are distributed over the groups without replacement, as under permuted groups.
    """
    workers, groups, k = hits.shape
    observed = _between(hits, n)
    at_least = np.ones(workers)
    step = max(1, _CELLS // max(workers * groups * k, 1))
    for done in range(0, draws, step):
        size = min(step, draws - done)
        at_least += (_between(_dealt(hits, n, rng, size), n) >= observed - 1e-9).sum(axis=0)
    return np.asarray(at_least / (draws + 1))


def _between(hits: I8, n: I8) -> F8:
    rate = hits / np.maximum(n, 1)
    total = n.sum(axis=-2, keepdims=True)
    whole = hits.sum(axis=-2, keepdims=True) / np.maximum(total, 1)
    return np.asarray((n * (rate - whole) ** 2).sum(axis=(-2, -1)))


def _dealt(hits: I8, n: I8, rng: np.random.Generator, size: int) -> I8:
    """Return hits[draw, worker, group, true] under permuted groups."""
    left_hits = np.broadcast_to(hits.sum(axis=1), (size, hits.shape[0], hits.shape[2])).copy()
    left = n.sum(axis=1)
    out = np.empty((size, *hits.shape), dtype=np.int64)
    for z in range(hits.shape[1] - 1):
        group_size = n[:, z]
        out[:, :, z] = rng.hypergeometric(left_hits, left - left_hits, np.broadcast_to(group_size, left_hits.shape))
        left_hits = left_hits - out[:, :, z]
        left = left - group_size
    out[:, :, -1] = left_hits
    return out


def rater_p(total: F8, n: F8, group: I8, rng: np.random.Generator, draws: int = PERMUTATION_DRAWS) -> tuple[F8, float]:
    """Return (mean of each group, p of all being equal): total[rater] is a sum of n[rater] values; raters are
    permuted.
    """
    k = int(group.max()) + 1
    overall = total.sum() / n.sum()
    off = total - overall * n
    member = np.eye(k)[group]

    def statistic(member: F8) -> F8:
        weight = np.einsum("m,...mg->...g", n, member)
        return np.asarray((np.einsum("m,...mg->...g", off, member) ** 2 / np.maximum(weight, 1e-12)).sum(axis=-1))

    observed = float(statistic(member))
    at_least, step = 1, max(1, _CELLS // max(len(n) * k, 1))
    for done in range(0, draws, step):
        size = min(step, draws - done)
        order = rng.permuted(np.broadcast_to(np.arange(len(n)), (size, len(n))), axis=1)
        at_least += int((statistic(member[order]) >= observed - 1e-9).sum())
    means = (member.T @ total) / np.maximum(member.T @ n, 1e-12)
    return np.asarray(means), at_least / (draws + 1)


# ----------------------------------------------------------------
# Linear programs: labels whose rates differ by at most epsilon between groups, and a fair assignment of workers.
# Labels: cells c (group, verdict, confidence bin) of n_c tasks with chances p_c[k]; x[c, k] is the share labelled k.
#
#     max sum n_c p_c[k] x[c, k]   subject to   |rate_zk - rate_z'k| <= epsilon
#
# After Hardt, Price & Srebro (2016), arXiv:1610.02413. Assignment: after Goel & Faltings (2019), AIES.

Target = Literal["parity", "opportunity", "odds"]


class LabelShares(NamedTuple):
    """x[cell, class] and the expected share of right labels."""

    x: F8
    accuracy: float


def fair_labels(size: F8, p: F8, group: I8, target: Target, within: float) -> LabelShares:
    """Return the best labels under the constraint, which can always be met by giving all tasks one label."""
    from scipy import optimize
    from scipy.sparse import coo_array, csr_array, eye_array, hstack, kron

    cells, k = p.shape
    groups = int(group.max()) + 1
    weights = [_weights(size, p, kind) for kind in _kinds(target)]  # each [cell, class]: what x counts for in a rate
    rows: list[Any] = []
    cols: list[Any] = []
    vals: list[Any] = []
    limits: list[float] = []
    n_floor = len(weights) * k
    for w, weight in enumerate(weights):
        total = np.zeros((groups, k))
        np.add.at(total, group, weight)
        share = weight / np.maximum(total[group], 1e-300)  # cell, class
        for z in range(groups):
            members = np.flatnonzero(group == z)
            for c in range(k):
                if total[z, c] <= 1e-9:
                    continue
                floor = cells * k + w * k + c
                for sign, limit in ((1.0, within), (-1.0, 0.0)):  # floor <= rate <= floor + within
                    row = len(limits)
                    rows.append(np.full(len(members) + 1, row))
                    cols.append(np.append(members * k + c, floor))
                    vals.append(np.append(sign * share[members, c], -sign))
                    limits.append(limit)
    shape = (len(limits), cells * k + n_floor)
    bound = coo_array((np.concatenate(vals), (np.concatenate(rows), np.concatenate(cols))), shape=shape).tocsr()
    one: Any = kron(eye_array(cells), np.ones((1, k)))
    sums = csr_array(hstack([one, coo_array((cells, n_floor))]))
    goal = np.append(-(size[:, None] * p).ravel() / size.sum(), np.zeros(n_floor))
    programme: Any = optimize.linprog  # its types know no sparse arrays
    solution = programme(goal, A_ub=bound, b_ub=limits, A_eq=sums, b_eq=np.ones(cells), bounds=(0, 1), method="highs")
    x = np.clip(solution.x[: cells * k].reshape(cells, k), 0, 1)
    return LabelShares(x / x.sum(axis=1, keepdims=True), float(-solution.fun))


def _kinds(target: Target) -> tuple[str, ...]:
    return {"parity": ("positive",), "opportunity": ("recall",), "odds": ("recall", "false")}[target]


def _weights(size: F8, p: F8, kind: str) -> F8:
    if kind == "positive":
        return np.broadcast_to(size[:, None], p.shape)
    return size[:, None] * (p if kind == "recall" else 1 - p)


class FairAssignment(NamedTuple):
    """labels[worker, group], mean accuracy of each group, the gap used, and the smallest achievable gap."""

    labels: F8
    accuracy: F8
    within: float
    smallest: float


def fair_assignment(accuracy: F8, tasks: F8, per_task: float, load: F8, within: float) -> FairAssignment:
    """Assign labels of each group to workers: accuracy[worker, group], tasks[group], load[worker].

    Maximizes the mean accuracy of a label while mean accuracies of groups may differ by at most `within`, or by the
    smallest achievable difference if that is larger.
    """
    smallest = _solve(accuracy, tasks, per_task, load, None)
    if smallest is None:
        raise ValueError("the workers' loads do not cover the labels that are needed")
    least = smallest[1]
    limit = max(within, least + 1e-9)
    solution = _solve(accuracy, tasks, per_task, load, limit)
    assert solution is not None
    x = solution[0]
    return FairAssignment(x, (x * accuracy).sum(axis=0) / np.maximum(x.sum(axis=0), 1e-300), limit, least)


def _solve(accuracy: F8, tasks: F8, per_task: float, load: F8, within: float | None) -> tuple[F8, float] | None:
    """Return the best labels[worker, group] within a gap; without one, those with the smallest gap, and that gap."""
    from scipy.optimize import linprog

    m, g = accuracy.shape
    n = m * g
    needed = per_task * tasks
    # Variables: x, the lowest mean accuracy, the gap.
    equal = np.zeros((g, n + 2))
    for z in range(g):
        equal[z, z:n:g] = 1.0
    loads = np.zeros((m, n + 2))
    for w in range(m):
        loads[w, w * g : (w + 1) * g] = 1.0
    means = np.zeros((2 * g, n + 2))
    for z in range(g):
        means[2 * z, z:n:g] = accuracy[:, z] / needed[z]
        means[2 * z, n], means[2 * z, n + 1] = -1.0, -1.0  # mean <= lowest + gap
        means[2 * z + 1, z:n:g] = -accuracy[:, z] / needed[z]
        means[2 * z + 1, n] = 1.0  # lowest <= mean
    goal = np.zeros(n + 2)
    if within is None:
        goal[n + 1] = 1.0
    else:
        goal[:n] = -accuracy.ravel() / needed.sum()
    most = [(0.0, float(tasks[z])) for _ in range(m) for z in range(g)]
    bounds = [*most, (0.0, 1.0), (0.0, 1.0 if within is None else within)]
    solution = linprog(
        goal, A_ub=np.vstack([loads, means]), b_ub=np.append(load, np.zeros(2 * g)), A_eq=equal, b_eq=needed,
        bounds=bounds, method="highs",
    )  # fmt: skip
    if not solution.success or solution.x is None:
        return None
    return solution.x[:n].reshape(m, g), float(solution.x[n + 1])


# ----------------------------------------------------------------
# Confusions by group of tasks: a worker's row in a group, shrunk to the worker's row over all groups.
#     A[m, z, k, :] = (C[m, z, k, :] + s·Ā[m, k, :]) / (n + s)
#
# s maximizes the Dirichlet-multinomial evidence of each group's counts given the worker's other groups: with a group's
# own counts in the mean, the evidence would favour the largest s.

STRENGTHS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0)
# Pseudo-counts that shrink a worker's row to that of the crowd.
TO_CROWD = 4.0


def crowd_rows(counts: F8) -> F8:
    """rows[true, observed] of all workers pooled."""
    k = counts.shape[-1]
    return _normal(counts.sum(axis=tuple(range(counts.ndim - 2))) + 1.0 / k)


def pooled_rows(counts: F8, crowd: F8) -> F8:
    """rows[..., true, observed] of counts, shrunk to the crowd's."""
    return np.asarray((counts + TO_CROWD * crowd) / (counts.sum(axis=-1, keepdims=True) + TO_CROWD))


def by_group(counts: F8, strength: float | None = None) -> tuple[F8, float]:
    """(A[worker, group, true, observed], s) of counts[worker, group, true, observed]."""
    crowd = crowd_rows(counts)
    s = best_strength(counts, crowd) if strength is None else strength
    own = pooled_rows(counts.sum(axis=1), crowd)[:, None]
    return np.asarray((counts + s * own) / (counts.sum(axis=-1, keepdims=True) + s)), s


def best_strength(counts: F8, crowd: F8) -> float:
    """Return the strength under which each group's counts are most probable given the other groups."""
    elsewhere = counts.sum(axis=1, keepdims=True) - counts
    others = pooled_rows(elsewhere, crowd)
    # The row of the other groups is an estimate too, from a limited number of counts.
    elsewhere_size = elsewhere.sum(axis=-1) + TO_CROWD
    evidence = []
    for strength in STRENGTHS:
        pull = 1 / (1 / strength + 1 / elsewhere_size)
        evidence.append(float(log_rows(counts, pull[..., None] * others, axis=-1).sum()))
    return STRENGTHS[int(np.argmax(evidence))]


def _normal(rows: F8) -> F8:
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))
