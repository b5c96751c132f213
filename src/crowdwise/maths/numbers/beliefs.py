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

from .linear import pairs
from .rows import F8, I8, Rows

BLOCK = 20_000  # edges × grid in memory at a time
NODES = 512  # distinct values beyond this are rounded to so many
BATCHED = 2_000_000  # edges × variances × grid that are gathered at once
TINY = 1e-290


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
        """Patterns of the edges; many distinct values of single answers are rounded to nodes."""
        value = edges.value
        if bool((edges.n == 1).all()) and len(np.unique(value)) > NODES:
            low, high = float(value.min()), float(value.max())
            value = low + np.round((value - low) / (high - low) * (NODES - 1)) * ((high - low) / (NODES - 1))
        stacked = np.stack([value, edges.n, edges.square], axis=1)
        patterns, pattern = np.unique(stacked, axis=0, return_inverse=True)
        return cls(grid, pattern.ravel().astype(np.int64), patterns, variances)

    @cached_property
    def kept(self) -> F8 | None:
        """The whole table where it is small enough to keep."""
        return _likelihood(self.patterns, self.variances, self.grid) if len(self.patterns) <= 2 * NODES else None

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


def _sum(pair: I8, values: F8) -> F8:
    return np.bincount(pair, weights=values).astype(np.float64, copy=False)


def _likelihood(patterns: F8, variances: F8, grid: F8) -> F8:
    value, n, square = (column[:, None, None] for column in patterns.T)
    v = variances[None, :, None]
    log = -0.5 * n * np.log(v) - 0.5 * (n * (value - grid) ** 2 + square) / v
    return np.asarray(np.exp(log - log.max(axis=(1, 2), keepdims=True)))


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
    if gold is not None:
        fixed = ~np.isnan(gold[edges.task])
        log_g[fixed] = tables.log_at(np.where(fixed, gold[edges.task], 0.0))[fixed]
    return mean, variance, log_g


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
