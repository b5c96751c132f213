"""Linear programmes: labels whose rates differ by at most epsilon between groups, and workers shared out fairly.

Labels: cells c (group, verdict, confidence bin) of n_c tasks with chances p_c[k]; x[c, k] is the share labelled k.

    max sum n_c p_c[k] x[c, k]   subject to   |rate_zk - rate_z'k| <= epsilon

After Hardt, Price & Srebro (2016), arXiv:1610.02413. Assignment: after Goel & Faltings (2019), AIES.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Target = Literal["parity", "opportunity", "odds"]


class Shares(NamedTuple):
    """x[cell, class] and the expected share of right labels."""

    x: F8
    accuracy: float


def fair_labels(size: F8, p: F8, group: I8, target: Target, within: float) -> Shares:
    """The best labels under the constraint; it can always be met, by one label for all."""
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
            mine = np.flatnonzero(group == z)
            for c in range(k):
                if total[z, c] <= 1e-9:
                    continue
                floor = cells * k + w * k + c
                for sign, limit in ((1.0, within), (-1.0, 0.0)):  # floor <= rate <= floor + within
                    row = len(limits)
                    rows.append(np.full(len(mine) + 1, row))
                    cols.append(np.append(mine * k + c, floor))
                    vals.append(np.append(sign * share[mine, c], -sign))
                    limits.append(limit)
    shape = (len(limits), cells * k + n_floor)
    bound = coo_array((np.concatenate(vals), (np.concatenate(rows), np.concatenate(cols))), shape=shape).tocsr()
    one: Any = kron(eye_array(cells), np.ones((1, k)))
    sums = csr_array(hstack([one, coo_array((cells, n_floor))]))
    goal = np.append(-(size[:, None] * p).ravel() / size.sum(), np.zeros(n_floor))
    programme: Any = optimize.linprog  # its types know no sparse arrays
    found = programme(goal, A_ub=bound, b_ub=limits, A_eq=sums, b_eq=np.ones(cells), bounds=(0, 1), method="highs")
    x = np.clip(found.x[: cells * k].reshape(cells, k), 0, 1)
    return Shares(x / x.sum(axis=1, keepdims=True), float(-found.fun))


def _kinds(target: Target) -> tuple[str, ...]:
    return {"parity": ("said",), "opportunity": ("recall",), "odds": ("recall", "false")}[target]


def _weights(size: F8, p: F8, kind: str) -> F8:
    if kind == "said":
        return np.broadcast_to(size[:, None], p.shape)
    return size[:, None] * (p if kind == "recall" else 1 - p)


class Assignment(NamedTuple):
    """labels[worker, group], mean accuracy of each group, the gap asked for, and the smallest that can be had."""

    labels: F8
    accuracy: F8
    within: float
    smallest: float


def fair_assignment(accuracy: F8, tasks: F8, per_task: float, load: F8, within: float) -> Assignment:
    """Whom to give how many labels of which group: accuracy[worker, group], tasks[group], load[worker].

    Maximises the mean accuracy of a label where mean accuracies of groups may differ by at most `within`; where that
    cannot be had, by the smallest difference that can.
    """
    smallest = _solve(accuracy, tasks, per_task, load, None)
    if smallest is None:
        raise ValueError("the workers' loads do not cover the labels that are needed")
    least = smallest[1]
    limit = max(within, least + 1e-9)
    found = _solve(accuracy, tasks, per_task, load, limit)
    assert found is not None
    x = found[0]
    return Assignment(x, (x * accuracy).sum(axis=0) / np.maximum(x.sum(axis=0), 1e-300), limit, least)


def _solve(accuracy: F8, tasks: F8, per_task: float, load: F8, within: float | None) -> tuple[F8, float] | None:
    """The best labels[worker, group] within a gap; without one, those with the smallest gap, and that gap."""
    from scipy.optimize import linprog

    m, g = accuracy.shape
    n = m * g
    want = per_task * tasks
    # Variables: x, the lowest mean accuracy, the gap.
    equal = np.zeros((g, n + 2))
    for z in range(g):
        equal[z, z:n:g] = 1.0
    loads = np.zeros((m, n + 2))
    for w in range(m):
        loads[w, w * g : (w + 1) * g] = 1.0
    means = np.zeros((2 * g, n + 2))
    for z in range(g):
        means[2 * z, z:n:g] = accuracy[:, z] / want[z]
        means[2 * z, n], means[2 * z, n + 1] = -1.0, -1.0  # mean <= lowest + gap
        means[2 * z + 1, z:n:g] = -accuracy[:, z] / want[z]
        means[2 * z + 1, n] = 1.0  # lowest <= mean
    goal = np.zeros(n + 2)
    if within is None:
        goal[n + 1] = 1.0
    else:
        goal[:n] = -accuracy.ravel() / want.sum()
    most = [(0.0, float(tasks[z])) for _ in range(m) for z in range(g)]
    bounds = [*most, (0.0, 1.0), (0.0, 1.0 if within is None else within)]
    found = linprog(goal, A_ub=np.vstack([loads, means]), b_ub=np.append(load, np.zeros(2 * g)), A_eq=equal, b_eq=want,
                    bounds=bounds, method="highs")  # fmt: skip
    if not found.success or found.x is None:
        return None
    return found.x[:n].reshape(m, g), float(found.x[n + 1])
