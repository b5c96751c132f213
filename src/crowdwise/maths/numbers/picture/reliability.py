"""How far the answers agree: intraclass correlations and Krippendorff's alpha for numbers, on incomplete tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...bootstrap import central
from ..rows import F8, Rows
from ..scaling import standardise

DRAWS = 200


@dataclass(frozen=True)
class Reliability:
    """Values with 95 % intervals by resampling tasks (NaN where undefined).

    `icc1`: share of the answers' variance that lies between tasks, workers as noise (Shrout & Fleiss 1979,
    doi:10.1037/0033-2909.86.2.420). `icc2`: the same with the variance between workers taken apart, from the variance
    components task, worker, rest. `alpha`: Krippendorff's with squared differences. `components`: the three variances.
    """

    icc1: tuple[float, float, float]
    icc2: tuple[float, float, float]
    alpha: tuple[float, float, float]
    components: tuple[float, float, float]


def reliability(rows: Rows, *, draws: int = DRAWS, seed: int = 0) -> Reliability:
    """Of all rows; tasks are drawn with replacement for the intervals."""
    rows, _, scale = standardise(rows.present(), None)
    rng = np.random.default_rng(seed)
    answered = np.flatnonzero(rows.per_task > 0)
    found = _statistics(rows, np.ones(rows.n_tasks))
    drawn = []
    for _ in range(draws if len(answered) >= 3 else 0):
        picked = rng.choice(answered, len(answered))
        drawn.append(_statistics(rows, np.bincount(picked, minlength=rows.n_tasks).astype(np.float64))[:3])
    ends = _ends(np.array(drawn), len(answered))
    icc1, icc2, alpha = ((float(found[k]), *ends[k]) for k in range(3))
    parts = np.maximum(found[3:], 0.0) * scale.unit**2
    return Reliability(icc1, icc2, alpha, (float(parts[0]), float(parts[1]), float(parts[2])))


def _ends(drawn: F8, n: int) -> list[tuple[float, float]]:
    out = []
    for k in range(3):
        good = drawn[np.isfinite(drawn[:, k]), k] if len(drawn) else drawn
        if len(good) < 0.9 * max(len(drawn), 1) or not len(good):
            out.append((np.nan, np.nan))
        else:
            out.append(central(good, n, 0.95))
    return out


def _statistics(rows: Rows, times: F8) -> F8:
    """icc1, icc2, alpha and the three components, with each task taken so many times."""
    n, s, q = rows.per_task, rows.task_sum(rows.value), rows.task_sum(rows.value**2)
    safe = np.maximum(n, 1e-300)
    within = np.where(n > 0, q - s**2 / safe, 0.0)
    total, count, tasks = float(times @ n), float(times @ q), float(times[n > 0].sum())
    level = float(times @ s)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = float(times @ within) / np.float64(total - tasks)
        between = (float(times @ np.where(n > 0, s**2 / safe, 0.0)) - level**2 / total) / np.float64(tasks - 1)
        size = (total - float(times @ n**2) / total) / np.float64(tasks - 1)
        icc1 = (between - inside) / (between + (size - 1) * inside)
        task, worker, rest = _components(rows, times, n, s, q, inside)
        whole = max(task, 0.0) + max(worker, 0.0) + max(rest, 0.0)
        icc2 = max(task, 0.0) / np.float64(whole)
        many = n > 1
        pairs = float(times[many] @ (n * within / np.where(many, n - 1, 1.0))[many])
        answers, level, count = (float(times[many] @ column[many]) for column in (n, s, q))
        alpha = 1 - (answers - 1) * pairs / np.float64(answers * count - level**2)
    return np.array([icc1, icc2, alpha, task, worker, rest], dtype=np.float64)


def _components(rows: Rows, times: F8, n: F8, s: F8, q: F8, inside: float) -> tuple[float, float, float]:
    """Variances of task, worker, rest, from half the mean squared difference of pairs of answers.

    Pairs of one task differ by worker + rest, pairs of one worker by task + rest, other pairs by all three.
    """
    w = times[rows.task]
    by_worker = [rows.worker_sum(column) for column in (w, w * rows.value, w * rows.value**2)]
    own = float(rows.worker_sum(w * w if rows.weight is None else w * w * rows.weight).sum())
    square = float((by_worker[0] * by_worker[2] - by_worker[1] ** 2).sum())
    same_worker = square / np.float64((by_worker[0] ** 2).sum() - own)
    one_task = float(times**2 @ (n * q - s**2)), float(times**2 @ n**2)
    total, level, count = float(times @ n), float(times @ s), float(times @ q)
    size = total**2 - one_task[1] - float((by_worker[0] ** 2).sum()) + own
    apart = (total * count - level**2 - one_task[0] - square) / np.float64(size)
    return float(apart - inside), float(apart - same_worker), float(inside + same_worker - apart)
