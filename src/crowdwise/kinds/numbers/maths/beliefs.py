"""Belief propagation between tasks on a grid and workers with one of a few variances.

An answer's message about its task is the scale mixture sum_s w(s) N(r; y, v_s), kept as it is on a grid of y; its
message about the worker is the likelihood of each variance under what the task's other answers say. Rows of the same
worker and task are one edge. Edges of the same value share one table, so that messages are products of matrices;
blocks of tasks bound the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....core.order import offsets
from .rows import F8, I8, Rows, pairs

BLOCK = 20_000  # edges × grid in memory at a time
NODES = 512  # distinct values beyond this are rounded to so many
KEPT = 1 << 24  # cells of a table of likelihoods that is kept
BATCHED = 2_000_000  # edges × variances × grid that are gathered at once
TINY = 1e-290
# Edges × grid from which the compiled round pays for its import.
COMPILED_FROM = 3_000_000
# A task is looked at again when what is believed of one of its workers has moved by more than this.
STALE = 1e-4


@dataclass(frozen=True, eq=False)
class Edges:
    """Answers with those of one worker about one task merged: n of them, with their mean and squares around it."""

    task: I8
    worker: I8
    value: F8
    n: F8
    square: F8
    n_tasks: int
    n_workers: int

    @classmethod
    def of(cls, rows: Rows) -> Edges:
        """Edges in the order of tasks; `pairs(rows)` says which edge a row is part of."""
        first, pair = pairs(rows)
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        n = _sum(pair, weight)
        value = _sum(pair, weight * rows.value) / n
        single = np.bincount(pair, minlength=len(first)) == 1
        value = np.where(single, rows.value[first], value)  # without the rounding of w r / w
        square = _sum(pair, weight * (rows.value - value[pair]) ** 2)
        task, worker = rows.task[first].astype(np.int64), rows.worker[first].astype(np.int64)
        return cls(task, worker, value, n, square, rows.n_tasks, rows.n_workers)


@dataclass(frozen=True, eq=False)
class Tables:
    """likelihood[pattern, variance, grid], up to a factor for each pattern, and the pattern of each edge."""

    grid: F8
    pattern: I8
    patterns: F8  # [pattern, (value, n, square)]
    variances: F8

    @classmethod
    def of(cls, edges: Edges, grid: F8, variances: F8) -> Tables:
        """Patterns of the edges; where there are many, values are rounded to nodes, and of merged answers also how
        many they are and how far apart, to within half a per cent."""
        columns = [edges.value, edges.n, edges.square]
        if len(np.unique(edges.value)) > NODES:
            low, high = float(edges.value.min()), float(edges.value.max())
            step = (high - low) / (NODES - 1)
            columns = [low + np.round((edges.value - low) / step) * step, *map(_rounded, columns[1:])]
        key = np.zeros(len(edges.value), dtype=np.int64)
        for column in columns:  # one number for each pattern: rows of a table sort ten times as slowly
            distinct, code = np.unique(column, return_inverse=True)
            key = key * len(distinct) + code.ravel()
            _, key = np.unique(key, return_inverse=True)
            key = key.ravel()
        first = np.zeros(int(key.max(initial=-1)) + 1, dtype=np.int64)
        first[key[::-1]] = np.arange(len(key))[::-1]
        return cls(grid, key, np.stack(columns, axis=1)[first], variances)

    @cached_property
    def kept(self) -> F8 | None:
        """The whole table where it is small enough to keep."""
        cells = len(self.patterns) * len(self.variances) * len(self.grid)
        return _likelihood(self.patterns, self.variances, self.grid) if cells <= KEPT else None

    def likelihood(self, p: int) -> F8:
        """[variance, grid] of one pattern, its highest entry 1."""
        if self.kept is not None:
            return np.asarray(self.kept[p])
        return np.asarray(_likelihood(self.patterns[p : p + 1], self.variances, self.grid)[0])

    def product(self, left: F8, pattern: I8, turned: bool) -> F8:
        """left[edge] times the table of the edge's pattern, or times its transpose."""
        if self.kept is not None and len(left) * self.kept[0].size <= BATCHED:
            table = self.kept[pattern]
            return np.asarray(np.matmul(left[:, None, :], table.swapaxes(1, 2) if turned else table)[:, 0])
        out = np.empty((len(left), len(self.variances if turned else self.grid)))
        for p, rows in groups(pattern):
            table = self.likelihood(p)
            out[rows] = left[rows] @ (table.T if turned else table)
        return out

    def log_at(self, at: F8) -> F8:
        """log likelihood[edge, variance] with the edges' tasks at known places."""
        value, n, square = self.patterns[self.pattern].T
        log = -0.5 * n[:, None] * np.log(self.variances)
        return np.asarray(log - 0.5 * (n * (value - at) ** 2 + square)[:, None] / self.variances)


def _rounded(values: F8) -> F8:
    """Values to within half a per cent, where they are many; 0 and 1 stay."""
    if len(np.unique(values)) <= NODES // 8:
        return values
    some = values > 1e-12
    return np.where(some, np.exp(np.round(np.log(np.where(some, values, 1.0)) * 100) / 100), 0.0)


def _sum(pair: I8, values: F8) -> F8:
    return np.bincount(pair, weights=values).astype(np.float64, copy=False)


def _likelihood(patterns: F8, variances: F8, grid: F8) -> F8:
    value, n, square = (column[:, None, None] for column in patterns.T)
    v = variances[None, :, None]
    log = -0.5 * n * np.log(v) - 0.5 * (n * (value - grid) ** 2 + square) / v
    return np.asarray(np.exp(log - log.max(axis=(1, 2), keepdims=True)))


class Rounds:
    """Rounds of messages over the same edges. Large data go to a compiled kernel, which passes over tasks whose workers
    have hardly moved since they were last looked at."""

    def __init__(self, edges: Edges, tables: Tables, gold: F8 | None, compiled: bool | None = None) -> None:
        self.edges, self.tables, self.gold = edges, tables, gold
        fits = tables.kept is not None and len(edges.task) > 0
        self.compiled = fits and (len(edges.task) * len(tables.grid) >= COMPILED_FROM if compiled is None else compiled)
        self.mean, self.variance = np.full(edges.n_tasks, np.nan), np.full(edges.n_tasks, np.nan)
        self.used: F8 | None = None  # what was said of the workers when a task was last looked at
        self.log_g = np.empty((len(edges.task), len(tables.variances)))

    def __call__(self, say: F8, log_prior: F8) -> tuple[F8, F8, F8]:
        """As `messages`."""
        if not self.compiled:
            return messages(self.edges, self.tables, say, log_prior, self.gold)
        from ..kernels import round_

        edges = self.edges
        offset = offsets(edges.task.astype(np.int32), edges.n_tasks)
        if self.used is None:
            stale, self.used = np.ones(edges.n_tasks, dtype=bool), say.copy()
        else:
            moved = np.abs(say - self.used).max(axis=1) > STALE
            stale = np.bincount(edges.task, weights=moved, minlength=edges.n_tasks) > 0
            again = stale[edges.task]
            self.used[again] = say[again]
        prior = np.exp(log_prior - log_prior.max())
        round_(offset, self.tables.pattern, self.tables.kept, self.used, prior, self.tables.grid, stale, TINY,
               self.mean, self.variance, self.log_g)  # fmt: skip
        return self.mean, self.variance, told_by_gold(edges, self.tables, self.log_g, self.gold)


def messages(edges: Edges, tables: Tables, say: F8, log_prior: F8, gold: F8 | None) -> tuple[F8, F8, F8]:
    """One round: mean and variance of each task, and log g[edge, variance], what each edge tells its worker.

    `say[edge, variance]` is the worker's distribution without this edge, `log_prior[grid]` the tasks' prior.
    """
    mean, variance = np.full(edges.n_tasks, np.nan), np.full(edges.n_tasks, np.nan)
    log_g = np.empty(say.shape)
    for lo, hi in blocks(edges):
        part, task = slice(lo, hi), edges.task[lo:hi]
        log_f = task_messages(tables, part, say)
        starts = np.flatnonzero(np.diff(task, prepend=-1))
        belief = log_prior + np.add.reduceat(log_f, starts, axis=0)
        here = task[starts]
        mean[here], variance[here] = moments(belief, tables.grid)
        at = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(task)))
        cavity = belief[at] - log_f
        cavity -= cavity.max(axis=1, keepdims=True)
        np.exp(cavity, out=cavity)
        log_g[part] = np.log(np.maximum(tables.product(cavity, tables.pattern[part], True), TINY))
    return mean, variance, told_by_gold(edges, tables, log_g, gold)


def told_by_gold(edges: Edges, tables: Tables, log_g: F8, gold: F8 | None) -> F8:
    """What edges tell their workers, those of gold tasks by the gold."""
    if gold is None:
        return log_g
    fixed = ~np.isnan(gold[edges.task])
    log_g[fixed] = tables.log_at(np.where(fixed, gold[edges.task], 0.0))[fixed]
    return log_g


def task_messages(tables: Tables, part: slice, say: F8) -> F8:
    """log f[edge, grid] of some edges."""
    out = tables.product(say[part], tables.pattern[part], False)
    return np.asarray(np.log(np.maximum(out, TINY, out=out), out=out))


def blocks(edges: Edges) -> list[tuple[int, int]]:
    """Runs of whole tasks of about BLOCK edges, as first edge and one past the last."""
    out, lo = [], 0
    while lo < len(edges.task):
        hi = min(lo + BLOCK, len(edges.task))
        hi = int(np.searchsorted(edges.task, edges.task[hi - 1], side="right"))
        out.append((lo, hi))
        lo = hi
    return out


def groups(pattern: I8) -> list[tuple[int, I8]]:
    """Rows of each pattern that occurs."""
    order = np.argsort(pattern, kind="stable")
    starts = np.flatnonzero(np.diff(pattern[order], prepend=-1))
    return [(int(pattern[rows[0]]), rows) for rows in np.split(order, starts[1:])] if len(order) else []


def moments(log_belief: F8, grid: F8) -> tuple[F8, F8]:
    """Mean and variance of beliefs[task, grid]."""
    belief = np.exp(log_belief - log_belief.max(axis=1, keepdims=True))
    belief /= belief.sum(axis=1, keepdims=True)
    mean = belief @ grid
    return mean, np.maximum((belief * (grid - mean[:, None]) ** 2).sum(axis=1), 0.0)
