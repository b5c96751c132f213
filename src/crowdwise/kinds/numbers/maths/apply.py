"""Judging rows with everything that was learnt held fixed: other tasks, or the same without each row's own worker.

Workers are those of the fit (same codes); gold is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .beliefs import Edges, Tables, blocks, moments, task_messages
from .gaussian import scaled
from .rows import F8, I8, Fit, Linear, Rows, Scale, pairs
from .simple import pulled, trimmed_of

EXPANDED = 2_000_000  # rows of the tables without one worker, at a time


def apply(fit: Fit, rows: Rows) -> tuple[F8, F8]:
    """Mean and variance of each task of `rows`; a task without rows gets what the fit holds of an unknown task."""
    rows = rows.present()
    if fit.method == "combined":
        rows = pulled(rows, trimmed_of(rows, 0.5), fit.extra["limit"])
        found = [apply(member, rows) for member in fit.extra["members"].values()]
        return np.mean([mean for mean, _ in found], axis=0), found[1][1]
    inner, scale = _inward(fit, rows)
    mean, variance = _judge(fit)(inner)
    return scale.outward(mean), variance * scale.unit**2


def without_own(fit: Fit, rows: Rows) -> tuple[F8, F8]:
    """Mean and variance of each row's task, judged by the rows of the other workers alone."""
    if rows.weight is not None and not bool((rows.weight > 0).all()):
        keep = rows.weight > 0
        mean, variance = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
        mean[keep], variance[keep] = without_own(fit, rows.take(keep))
        return mean, variance
    if fit.method == "combined":
        rows = pulled(rows, trimmed_of(rows, 0.5), fit.extra["limit"])
        found = [without_own(member, rows) for member in fit.extra["members"].values()]
        return np.mean([mean for mean, _ in found], axis=0), found[1][1]
    inner, scale = _inward(fit, rows)
    if "linear" in fit.extra and fit.method != "student":
        mean, variance = fit.extra["linear"].judge_without_own(inner)
    elif fit.method == "bayesian_iterative":
        mean, variance = _beliefs(fit, inner, own=False)
    else:
        mean, variance = _expanded(_judge(fit), inner)
    return scale.outward(mean), variance * scale.unit**2


def row_loglik(fit: Fit, rows: Rows) -> F8:
    """log density of each answer, predicted from the other workers' answers of its task and its worker's own habits.

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


def _inward(fit: Fit, rows: Rows) -> tuple[Rows, Scale]:
    scale = Scale(float(fit.extra["centre"]), float(fit.extra["unit"]))
    return rows.with_value(scale.inward(rows.value)), scale


def _judge(fit: Fit) -> Callable[[Rows], tuple[F8, F8]]:
    """How this fit's method judges standardised rows."""
    if fit.method == "student":
        return lambda rows: _student(fit, rows)
    if "linear" in fit.extra:
        linear: Linear = fit.extra["linear"]
        return linear.judge
    if fit.method == "bayesian_iterative":
        return lambda rows: _beliefs(fit, rows, own=True)
    empty, share = float(fit.extra["empty"]), float(fit.extra["share"])

    def trimmed(rows: Rows) -> tuple[F8, F8]:
        mean = np.where(rows.per_task > 0, trimmed_of(rows, share), empty)
        return mean, np.full(rows.n_tasks, np.nan)

    return trimmed


def _student(fit: Fit, rows: Rows, rounds: int = 200) -> tuple[F8, F8]:
    """Scales of the rows and their tasks in turn, workers fixed."""
    judge: Linear = fit.extra["linear"]
    df, m = float(fit.extra["df"]), rows.worker
    bias = judge.c[m] / judge.a[m]
    mean, variance = judge.judge(rows)
    for _ in range(rounds):
        u = (df + 1) / (df + judge.a[m] * ((rows.value - bias - mean[rows.task]) ** 2 + judge.doubt[m]
                                           + variance[rows.task]))  # fmt: skip
        old, (mean, variance) = mean, judge.judge(scaled(rows, u))
        if float(np.abs(mean - old).max(initial=0.0)) < 1e-10:
            break
    return mean, variance


def _beliefs(fit: Fit, rows: Rows, own: bool) -> tuple[F8, F8]:
    """Beliefs on the grid: of tasks (own) or of each row's task without its edge."""
    extra = fit.extra
    rows = rows.with_value(rows.value - extra["offset"][rows.worker])
    edges = Edges.of(rows)
    tables = Tables.of(edges, extra["grid"], extra["variances"])
    mu, tau = extra["prior"]
    log_prior = -0.5 * (extra["grid"] - mu) ** 2 / tau
    say = extra["say"][edges.worker]
    size = rows.n_tasks if own else len(edges.task)
    mean, variance = np.full(size, mu), np.full(size, tau)
    for lo, hi in blocks(edges):
        task = edges.task[lo:hi]
        log_f = task_messages(tables, slice(lo, hi), say)
        starts = np.flatnonzero(np.diff(task, prepend=-1))
        belief = log_prior + np.add.reduceat(log_f, starts, axis=0)
        if own:
            mean[task[starts]], variance[task[starts]] = moments(belief, tables.grid)
        else:
            count = np.diff(starts, append=len(task))
            found = moments(np.repeat(belief, count, axis=0) - log_f, tables.grid)
            several = np.repeat(count, count) > 1  # alone: the prior, without the grid's edges
            mean[lo:hi] = np.where(several, found[0], mu)
            variance[lo:hi] = np.where(several, found[1], tau)
    if own:
        return mean, variance
    _, pair = pairs(rows)
    return mean[pair], variance[pair]


def _expanded(judge: Callable[[Rows], tuple[F8, F8]], rows: Rows) -> tuple[F8, F8]:
    """Any judge without own rows: each (task, worker) pair becomes a task of the other workers' rows."""
    first, pair = pairs(rows)
    mean, variance = np.empty(len(first)), np.empty(len(first))
    for lo, hi, source, target in _others(rows, first, pair):
        part = rows.take(source)
        table = Rows(target.astype(np.int32), part.worker, part.value, part.weight, hi - lo, rows.n_workers)
        mean[lo:hi], variance[lo:hi] = judge(table)
    return mean[pair], variance[pair]


def _others(rows: Rows, first: I8, pair: I8) -> Iterator[tuple[int, int, I8, I8]]:
    """Runs of pairs, with the rows of the other workers of their tasks and the pair (from the run's first) of each."""
    count = np.diff(rows.offsets)[rows.task[first]]
    lo = 0
    while lo < len(first):
        size = np.cumsum(count[lo:])
        hi = lo + max(int(np.searchsorted(size, EXPANDED, side="right")), 1)
        here = count[lo:hi]
        target = np.repeat(np.arange(hi - lo), here)
        begin = np.repeat(rows.offsets[rows.task[first[lo:hi]]], here)
        source = begin + np.arange(int(here.sum())) - np.repeat(np.cumsum(here) - here, here)
        other = pair[source] != target + lo
        yield lo, hi, source[other], target[other]
        lo = hi
