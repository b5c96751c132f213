"""Belief propagation between tasks, on a grid of values, and workers with one of a few variances.

The message of an answer to its task is the scale mixture sum_s w(s) N(r; y, v_s), evaluated on a grid of y. Its message
to the worker is the likelihood of each variance given the other answers to the task. Rows of the same worker and task
form one edge. Edges with the same value share one table, so that messages are matrix products; tasks are processed in
blocks to bound the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....core.arrays import F8, I8
from ....core.order import offsets
from .rows import NumberRows, pairs

BLOCK = 20_000  # edges per block
NODES = 512  # with more distinct values, values are rounded to this many
MAX_CACHED = 1 << 24  # maximum number of cells of a cached table of likelihoods
BATCHED = 2_000_000  # maximum edges × variances × grid in one batched product
TINY = 1e-290
# Edges × grid from which the compiled kernel is worth its import time.
COMPILED_FROM = 3_000_000
# A task is updated again when the belief about one of its workers has moved by more than this.
STALE = 1e-4


@dataclass(frozen=True, eq=False)
class Edges:
    """Answers merged by (task, worker): their number n, mean and sum of squares around the mean."""

    task: I8
    worker: I8
    value: F8
    n: F8
    square: F8
    n_tasks: int
    n_workers: int

    @classmethod
    def of(cls, rows: NumberRows) -> Edges:
        """Build the edges, sorted by task. `pairs(rows)` gives the edge of each row."""
        first, pair = pairs(rows)
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        n = _sum(pair, weight)
        value = _sum(pair, weight * rows.value) / n
        single = np.bincount(pair, minlength=len(first)) == 1
        value = np.where(single, rows.value[first], value)  # avoids the rounding of w r / w
        square = _sum(pair, weight * (rows.value - value[pair]) ** 2)
        task, worker = rows.task[first].astype(np.int64), rows.worker[first].astype(np.int64)
        return cls(task, worker, value, n, square, rows.n_tasks, rows.n_workers)


@dataclass(frozen=True, eq=False)
class Tables:
    """likelihood[pattern, variance, grid] up to a factor per pattern, and the pattern of each edge."""

    grid: F8
    pattern: I8
    patterns: F8  # [pattern, (value, n, square)]
    variances: F8

    @classmethod
    def of(cls, edges: Edges, grid: F8, variances: F8) -> Tables:
        """Group edges into patterns of (value, n, square).

        With many distinct values, values are rounded to NODES nodes, and n and square to within half a per cent.
        """
        columns = [edges.value, edges.n, edges.square]
        if len(np.unique(edges.value)) > NODES:
            low, high = float(edges.value.min()), float(edges.value.max())
            step = (high - low) / (NODES - 1)
            columns = [low + np.round((edges.value - low) / step) * step, *map(_rounded, columns[1:])]
        key = np.zeros(len(edges.value), dtype=np.int64)
        for column in columns:  # one integer key per pattern: ten times as fast as np.unique over rows
            distinct, code = np.unique(column, return_inverse=True)
            key = key * len(distinct) + code.ravel()
            _, key = np.unique(key, return_inverse=True)
            key = key.ravel()
        first = np.zeros(int(key.max(initial=-1)) + 1, dtype=np.int64)
        first[key[::-1]] = np.arange(len(key))[::-1]
        return cls(grid, key, np.stack(columns, axis=1)[first], variances)

    @cached_property
    def cached(self) -> F8 | None:
        """The complete table, where it is small enough to cache."""
        cells = len(self.patterns) * len(self.variances) * len(self.grid)
        return _likelihood(self.patterns, self.variances, self.grid) if cells <= MAX_CACHED else None

    def likelihood(self, p: int) -> F8:
        """Likelihood [variance, grid] of one pattern, scaled to a maximum of 1."""
        if self.cached is not None:
            return np.asarray(self.cached[p])
        return np.asarray(_likelihood(self.patterns[p : p + 1], self.variances, self.grid)[0])

    def product(self, left: F8, pattern: I8, transposed: bool) -> F8:
        """Multiply left[edge] by the table of the edge's pattern, or by its transpose."""
        if self.cached is not None and len(left) * self.cached[0].size <= BATCHED:
            table = self.cached[pattern]
            return np.asarray(np.matmul(left[:, None, :], table.swapaxes(1, 2) if transposed else table)[:, 0])
        out = np.empty((len(left), len(self.variances if transposed else self.grid)))
        for p, rows in groups(pattern):
            table = self.likelihood(p)
            out[rows] = left[rows] @ (table.T if transposed else table)
        return out

    def log_at(self, at: F8) -> F8:
        """Log likelihood [edge, variance] with the edges' tasks at known values."""
        value, n, square = self.patterns[self.pattern].T
        log = -0.5 * n[:, None] * np.log(self.variances)
        return np.asarray(log - 0.5 * (n * (value - at) ** 2 + square)[:, None] / self.variances)


def _rounded(values: F8) -> F8:
    """Round values to within half a per cent where there are many distinct ones; 0 and 1 are kept."""
    if len(np.unique(values)) <= NODES // 8:
        return values
    positive = values > 1e-12
    return np.where(positive, np.exp(np.round(np.log(np.where(positive, values, 1.0)) * 100) / 100), 0.0)


def _sum(pair: I8, values: F8) -> F8:
    return np.bincount(pair, weights=values).astype(np.float64, copy=False)


def _likelihood(patterns: F8, variances: F8, grid: F8) -> F8:
    value, n, square = (column[:, None, None] for column in patterns.T)
    v = variances[None, :, None]
    log = -0.5 * n * np.log(v) - 0.5 * (n * (value - grid) ** 2 + square) / v
    return np.asarray(np.exp(log - log.max(axis=(1, 2), keepdims=True)))


class Rounds:
    """Rounds of messages over the same edges.

    Large data use a compiled kernel that skips tasks whose workers have hardly changed since the last update.
    """

    def __init__(self, edges: Edges, tables: Tables, gold: F8 | None, compiled: bool | None = None) -> None:
        self.edges, self.tables, self.gold = edges, tables, gold
        fits = tables.cached is not None and len(edges.task) > 0
        self.compiled = fits and (len(edges.task) * len(tables.grid) >= COMPILED_FROM if compiled is None else compiled)
        self.mean, self.variance = np.full(edges.n_tasks, np.nan), np.full(edges.n_tasks, np.nan)
        self.last_weights: F8 | None = None  # worker weights at the last update of each task
        self.log_g = np.empty((len(edges.task), len(tables.variances)))

    def __call__(self, weights: F8, log_prior: F8) -> tuple[F8, F8, F8]:
        """Run one round; see `messages`."""
        if not self.compiled:
            return messages(self.edges, self.tables, weights, log_prior, self.gold)
        from ..kernels import round_

        edges = self.edges
        offset = offsets(edges.task.astype(np.int32), edges.n_tasks)
        if self.last_weights is None:
            stale, self.last_weights = np.ones(edges.n_tasks, dtype=bool), weights.copy()
        else:
            moved = np.abs(weights - self.last_weights).max(axis=1) > STALE
            stale = np.bincount(edges.task, weights=moved, minlength=edges.n_tasks) > 0
            is_stale = stale[edges.task]
            self.last_weights[is_stale] = weights[is_stale]
        prior = np.exp(log_prior - log_prior.max())
        round_(offset, self.tables.pattern, self.tables.cached, self.last_weights, prior, self.tables.grid, stale, TINY,
               self.mean, self.variance, self.log_g)  # fmt: skip
        return self.mean, self.variance, with_gold_messages(edges, self.tables, self.log_g, self.gold)


def messages(edges: Edges, tables: Tables, weights: F8, log_prior: F8, gold: F8 | None) -> tuple[F8, F8, F8]:
    """Run one round.

    Args:
        edges: The edges.
        tables: Likelihoods of the edges.
        weights: weights[edge, variance], the distribution of the worker's variance without this edge.
        log_prior: Prior of the tasks on the grid.
        gold: Known values, NaN where unknown.

    Returns:
        Mean and variance of each task, and the messages log g[edge, variance] to the workers.
    """
    mean, variance = np.full(edges.n_tasks, np.nan), np.full(edges.n_tasks, np.nan)
    log_g = np.empty(weights.shape)
    for lo, hi in blocks(edges):
        part, task = slice(lo, hi), edges.task[lo:hi]
        log_f = task_messages(tables, part, weights)
        starts = np.flatnonzero(np.diff(task, prepend=-1))
        belief = log_prior + np.add.reduceat(log_f, starts, axis=0)
        answered = task[starts]
        mean[answered], variance[answered] = moments(belief, tables.grid)
        at = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(task)))
        cavity = belief[at] - log_f
        cavity -= cavity.max(axis=1, keepdims=True)
        np.exp(cavity, out=cavity)
        log_g[part] = np.log(np.maximum(tables.product(cavity, tables.pattern[part], True), TINY))
    return mean, variance, with_gold_messages(edges, tables, log_g, gold)


def with_gold_messages(edges: Edges, tables: Tables, log_g: F8, gold: F8 | None) -> F8:
    """Replace the messages of gold tasks to their workers by the likelihood at the gold value."""
    if gold is None:
        return log_g
    fixed = ~np.isnan(gold[edges.task])
    log_g[fixed] = tables.log_at(np.where(fixed, gold[edges.task], 0.0))[fixed]
    return log_g


def task_messages(tables: Tables, part: slice, weights: F8) -> F8:
    """Messages log f[edge, grid] of some edges to their tasks."""
    out = tables.product(weights[part], tables.pattern[part], False)
    return np.asarray(np.log(np.maximum(out, TINY, out=out), out=out))


def blocks(edges: Edges) -> list[tuple[int, int]]:
    """Blocks of whole tasks with about BLOCK edges, as (first edge, one past the last edge)."""
    out, lo = [], 0
    while lo < len(edges.task):
        hi = min(lo + BLOCK, len(edges.task))
        hi = int(np.searchsorted(edges.task, edges.task[hi - 1], side="right"))
        out.append((lo, hi))
        lo = hi
    return out


def groups(pattern: I8) -> list[tuple[int, I8]]:
    """Rows of each pattern."""
    order = np.argsort(pattern, kind="stable")
    starts = np.flatnonzero(np.diff(pattern[order], prepend=-1))
    return [(int(pattern[rows[0]]), rows) for rows in np.split(order, starts[1:])] if len(order) else []


def moments(log_belief: F8, grid: F8) -> tuple[F8, F8]:
    """Mean and variance of log beliefs [task, grid]."""
    belief = np.exp(log_belief - log_belief.max(axis=1, keepdims=True))
    belief /= belief.sum(axis=1, keepdims=True)
    mean = belief @ grid
    return mean, np.maximum((belief * (grid - mean[:, None]) ** 2).sum(axis=1), 0.0)
