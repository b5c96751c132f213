"""What m more votes on a task would bring, before anybody is asked.

Where class k is right, a vote adds to its log odds against class j a number with mean D[k, j] and variance V[k, j]
(the workers' confusions averaged). After m votes the label is right where it leads against all others:

    right(m) = sum_k q_k · prod_j Phi((l_kj + m D[k, j]) / sqrt(m V[k, j])),      l_kj = log(q_k / q_j)

over the few best classes, as if the leads were independent; `gain` is that less what it is now. One vote is no bell
curve, above all where few workers know much and many little, so of a single vote the exact figure is taken, sum_w
weight_w sum_l max_k q_k A_w[k, l], and more votes never bring less.

People err together on what is hard: n labels of a task count as n / (1 + (n - 1) · DEPENDENCE), so m further votes on a
task with h labels are worth what that number rises by. Without it nearly twice what comes would be promised
(benchmarks/active/promised.py).

Not every task is like the others: where T nats should have been told of the two best classes and their log odds stand
at l only, its votes tell less than the confusions say. With a prior of `STEADY` nats at the crowd's own pace, the pace
of a task is (l + STEADY) / (T + STEADY), at most 1: a task that 39 votes have left open is not settled by three more.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from ..maths.information import counts_as

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Nats that a task must have been told before it is judged by its own pace as much as by the crowd's.
STEADY = 4.0
# How alike the labels of one task are beyond its class. Settled on the sets of `datasets.INDEPENDENT` with four labels
# a task or more, bluebird, web, dog and relevance4 apart: 0 to .5 were looked at.
DEPENDENCE = 0.15
# Classes of a task that may come out on top; numbers held at a time, and numbers worked out at most for single votes.
_CLASSES, _NUMBERS, _WORK = 4, 2_000_000, 100_000_000
# Workers, the busiest first, who stand for the crowd when one vote is weighed: at most, and where tasks are many.
_WORKERS, _FEWEST = 200, 5
_LEAST = 1e-9


def gain_ahead(
    posterior: F8, had: F8, told: F8, theta: F8, weight: F8, most: int, dependence: float = DEPENDENCE
) -> F8:
    """gain[task, m - 1] for m = 1 to `most`; had[task] labels, told[task] nats each by itself, theta[worker, true,
    observed], weight[worker] sums to one."""
    mean, spread = drift(theta, weight)
    each = counts_as(had, dependence)
    told, now = told * each, had * each
    cells = max(len(posterior), 1) * posterior.shape[1] ** 2
    busiest = np.argsort(-weight, kind="stable")[: min(max(_WORK // cells, _FEWEST), _WORKERS)]
    theta, weight = theta[busiest], weight[busiest] / max(float(weight[busiest].sum()), _LEAST)
    out = np.empty((len(posterior), most))
    block = max(_NUMBERS // posterior.shape[1] ** 2, 1)
    for lo in range(0, len(posterior), block):
        some = slice(lo, lo + block)
        q = posterior[some]
        lead = np.log(np.maximum(np.sort(q, axis=1)[:, :-3:-1], _LEAST))
        pace = np.minimum((lead[:, 0] - lead[:, 1] + STEADY) / (told[some] + STEADY), 1.0)[:, None]
        then = had[some, None] + np.arange(1.0, most + 1)
        more = then * counts_as(then, dependence) - now[some, None]
        out[some] = _gain(q, pace * more, mean, spread)
        out[some, 0] = pace[:, 0] * more[:, 0] * _one_vote(q, theta, weight)
    return np.asarray(np.maximum.accumulate(out, axis=1))


def _one_vote(q: F8, theta: F8, weight: F8) -> F8:
    """What one vote of somebody brings, exactly."""
    out = np.zeros(len(q))
    for share, table in zip(weight.tolist(), theta, strict=True):
        out += share * (q[:, :, None] * table).max(axis=1).sum(axis=1)
    return np.asarray(np.maximum(out - q.max(axis=1), 0.0))


def _gain(posterior: F8, worth: F8, mean: F8, spread: F8) -> F8:
    """What votes bring that are worth so many[task, m - 1]."""
    top = np.argsort(-posterior, axis=1, kind="stable")[:, :_CLASSES]
    q = np.take_along_axis(posterior, top, axis=1)
    logs = np.log(np.maximum(q, _LEAST))
    right = np.zeros_like(worth)
    for k in range(top.shape[1]):
        on_top = np.ones_like(worth)
        for j in range(top.shape[1]):
            if j != k:
                a, b = top[:, k], top[:, j]
                lead = (logs[:, k] - logs[:, j])[:, None] + worth * mean[a, b][:, None]
                on_top *= ndtr(lead / np.sqrt(np.maximum(worth * spread[a, b][:, None], _LEAST)))
        right += q[:, k : k + 1] * on_top
    return np.maximum(right - q[:, :1], 0.0)


def drift(theta: F8, weight: F8) -> tuple[F8, F8]:
    """Mean and variance of log(theta[true] / theta[other]) of one vote, both [true, other]."""
    k = theta.shape[1]
    rows = theta.transpose(1, 0, 2).reshape(k, -1)  # true, (worker, observed)
    logs = np.log(np.maximum(rows, _LEAST))
    rows = rows * np.repeat(weight, k)
    cross = rows @ logs.T
    mean = np.diag(cross)[:, None] - cross
    square = (rows * logs**2).sum(axis=1)[:, None] - 2 * (rows * logs) @ logs.T + rows @ (logs**2).T
    return np.maximum(mean, _LEAST), np.maximum(square - mean**2, _LEAST)
