"""Prediction with fitted parameters held fixed: of other tasks, or of the same tasks without each row's own worker.

Workers are those of the fit (same codes). Gold is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ....core.arrays import F8, I8
from ....stats.ragged import ranges
from .beliefs import Edges, Tables, blocks, moments, task_messages
from .gaussian import scaled
from .rows import Linear, NumberFit, NumberRows, Scale, pairs
from .simple import clamp_answers, trimmed_means

EXPANDED = 2_000_000  # maximum number of rows of an expanded leave-one-worker-out table


def apply(fit: NumberFit, rows: NumberRows) -> tuple[F8, F8]:
    """Mean and variance of each task of `rows`. Tasks without rows get the fit's prior of an unanswered task."""
    rows = rows.present()
    if fit.method == "combined":
        rows = clamp_answers(rows, trimmed_means(rows, 0.5), fit.extra["limit"])
        predictions = [apply(member, rows) for member in fit.extra["members"].values()]
        return np.mean([mean for mean, _ in predictions], axis=0), predictions[1][1]
    inner, scale = _inward(fit, rows)
    mean, variance = _predictor(fit)(inner)
    return scale.from_standard(mean), variance * scale.unit**2


def without_own(fit: NumberFit, rows: NumberRows) -> tuple[F8, F8]:
    """Mean and variance of each row's task, from the rows of the other workers only."""
    if rows.weight is not None and not bool((rows.weight > 0).all()):
        keep = rows.weight > 0
        mean, variance = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
        mean[keep], variance[keep] = without_own(fit, rows.take(keep))
        return mean, variance
    if fit.method == "combined":
        rows = clamp_answers(rows, trimmed_means(rows, 0.5), fit.extra["limit"])
        predictions = [without_own(member, rows) for member in fit.extra["members"].values()]
        return np.mean([mean for mean, _ in predictions], axis=0), predictions[1][1]
    inner, scale = _inward(fit, rows)
    if "linear" in fit.extra and fit.method != "student":
        mean, variance = fit.extra["linear"].predict_without_own(inner)
    elif fit.method == "bayesian_iterative":
        mean, variance = _beliefs(fit, inner, include_own=False)
    else:
        mean, variance = _expanded(_predictor(fit), inner)
    return scale.from_standard(mean), variance * scale.unit**2


def row_loglik(fit: NumberFit, rows: NumberRows) -> F8:
    """Log density of each answer given the other workers' answers to its task and its worker's parameters.

    NaN for methods without a variance.
    """
    mean, variance = without_own(fit, rows)
    if fit.method == "combined":
        fit = fit.extra["members"]["gaussian"]
    m, centre = rows.worker, float(fit.extra["centre"])
    doubt = fit.extra.get("bias_doubt", np.zeros(rows.n_workers))[m] * float(fit.extra["unit"]) ** 2
    at = centre + fit.slope[m] * (mean - centre) + fit.bias[m]
    spread = fit.spread[m] ** 2 + fit.slope[m] ** 2 * variance + doubt
    spread = np.maximum(spread, 1e-12 * float(fit.extra["unit"]) ** 2)
    return np.asarray(-0.5 * (np.log(2 * np.pi * spread) + (rows.value - at) ** 2 / spread))


def _inward(fit: NumberFit, rows: NumberRows) -> tuple[NumberRows, Scale]:
    scale = Scale(float(fit.extra["centre"]), float(fit.extra["unit"]))
    return rows.with_value(scale.to_standard(rows.value)), scale


def _predictor(fit: NumberFit) -> Callable[[NumberRows], tuple[F8, F8]]:
    """Return the function that predicts tasks from standardised rows."""
    if fit.method == "student":
        return lambda rows: _student(fit, rows)
    if "linear" in fit.extra:
        linear: Linear = fit.extra["linear"]
        return linear.predict
    if fit.method == "bayesian_iterative":
        return lambda rows: _beliefs(fit, rows, include_own=True)
    empty, share = float(fit.extra["empty"]), float(fit.extra["share"])

    def trimmed(rows: NumberRows) -> tuple[F8, F8]:
        mean = np.where(rows.per_task > 0, trimmed_means(rows, share), empty)
        return mean, np.full(rows.n_tasks, np.nan)

    return trimmed


def _student(fit: NumberFit, rows: NumberRows, rounds: int = 200) -> tuple[F8, F8]:
    """Update the scales of the rows and the tasks in turn, with the workers fixed."""
    linear: Linear = fit.extra["linear"]
    df, m = float(fit.extra["df"]), rows.worker
    bias = linear.c[m] / linear.a[m]
    mean, variance = linear.predict(rows)
    for _ in range(rounds):
        u = (df + 1) / (df + linear.a[m] * ((rows.value - bias - mean[rows.task]) ** 2 + linear.doubt[m]
                                           + variance[rows.task]))  # fmt: skip
        old, (mean, variance) = mean, linear.predict(scaled(rows, u))
        if float(np.abs(mean - old).max(initial=0.0)) < 1e-10:
            break
    return mean, variance


def _beliefs(fit: NumberFit, rows: NumberRows, include_own: bool) -> tuple[F8, F8]:
    """Moments of the beliefs on the grid: of each task, or without `include_own` of each row's task minus its edge."""
    extra = fit.extra
    rows = rows.with_value(rows.value - extra["offset"][rows.worker])
    edges = Edges.of(rows)
    tables = Tables.of(edges, extra["grid"], extra["variances"])
    mu, tau = extra["prior"]
    log_prior = -0.5 * (extra["grid"] - mu) ** 2 / tau
    weights = extra["say"][edges.worker]
    size = rows.n_tasks if include_own else len(edges.task)
    mean, variance = np.full(size, mu), np.full(size, tau)
    for lo, hi in blocks(edges):
        task = edges.task[lo:hi]
        log_f = task_messages(tables, slice(lo, hi), weights)
        starts = np.flatnonzero(np.diff(task, prepend=-1))
        belief = log_prior + np.add.reduceat(log_f, starts, axis=0)
        if include_own:
            mean[task[starts]], variance[task[starts]] = moments(belief, tables.grid)
        else:
            count = np.diff(starts, append=len(task))
            cavity_moments = moments(np.repeat(belief, count, axis=0) - log_f, tables.grid)
            several = np.repeat(count, count) > 1  # a single edge leaves the prior, not truncated to the grid
            mean[lo:hi] = np.where(several, cavity_moments[0], mu)
            variance[lo:hi] = np.where(several, cavity_moments[1], tau)
    if include_own:
        return mean, variance
    _, pair = pairs(rows)
    return mean[pair], variance[pair]


def _expanded(predict: Callable[[NumberRows], tuple[F8, F8]], rows: NumberRows) -> tuple[F8, F8]:
    """Predict without own rows: each (task, worker) pair becomes a task with the rows of the other workers."""
    first, pair = pairs(rows)
    mean, variance = np.empty(len(first)), np.empty(len(first))
    for lo, hi, source, target in _others(rows, first, pair):
        part = rows.take(source)
        table = NumberRows(target.astype(np.int32), part.worker, part.value, part.weight, hi - lo, rows.n_workers)
        mean[lo:hi], variance[lo:hi] = predict(table)
    return mean[pair], variance[pair]


def _others(rows: NumberRows, first: I8, pair: I8) -> Iterator[tuple[int, int, I8, I8]]:
    """Yield blocks of pairs: bounds, rows of the other workers of each pair's task, and the pair of each such row."""
    count = np.diff(rows.offsets)[rows.task[first]]
    lo = 0
    while lo < len(first):
        size = np.cumsum(count[lo:])
        hi = lo + max(int(np.searchsorted(size, EXPANDED, side="right")), 1)
        sizes = count[lo:hi]
        target = np.repeat(np.arange(hi - lo), sizes)
        source = ranges(rows.offsets[rows.task[first[lo:hi]]], sizes)
        other = pair[source] != target + lo
        yield lo, hi, source[other], target[other]
        lo = hi
