"""Assignments: which worker labels which task. Each draws (task, worker) pairs without repeats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ....core.arrays import F8, I4, I8, Mask
from ....core.errors import ParameterError
from ....core.params import Between, Count, PositiveShare, check
from ....core.vocabulary import Codes

# ---------------------------------------------------------------- Distinct random workers for every task, in bulk

Rows = I4

# Rounds of redrawing before the remaining rows are raced, and cells of a random table held at a time.
_ROUNDS = 30
_CELLS = 4_000_000


def distinct_rows(n_rows: int, size: int, chance: F8, rng: np.random.Generator) -> Rows:
    """Draw `size` different numbers below len(chance) for each row, in ascending order.

    Numbers are drawn one after the other by `chance`, with replacement, and repeats are drawn again. Where that takes
    long (nearly all numbers are needed, or few numbers have nearly all the chance), the missing ones are drawn by a
    race of exponential clocks: the same distribution at a cost of len(chance) per row.

    >>> distinct_rows(2, 3, np.full(3, 1 / 3), np.random.default_rng(0)).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    if 4 * size > len(chance):
        return _race(np.empty((n_rows, 0), dtype=np.int32), size, chance, rng)
    edges = np.cumsum(chance / chance.sum())
    out = np.sort(_draw_numbers(edges, (n_rows, size), rng), axis=1)
    incomplete = np.flatnonzero(_repeats(out).any(axis=1))
    for _ in range(_ROUNDS):
        if not len(incomplete):
            return out
        rows = out[incomplete]
        is_repeat = _repeats(rows)
        rows[is_repeat] = _draw_numbers(edges, (int(is_repeat.sum()),), rng)
        rows.sort(axis=1)
        out[incomplete] = rows
        incomplete = incomplete[_repeats(rows).any(axis=1)]
    out[incomplete] = _race(out[incomplete], size, chance, rng)
    return out


def _repeats(rows: Rows) -> Mask:
    """Mark the entries of ascending rows that equal the one before."""
    is_repeat = np.zeros(rows.shape, dtype=bool)
    np.equal(rows[:, 1:], rows[:, :-1], out=is_repeat[:, 1:])
    return is_repeat


def _draw_numbers(edges: F8, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
    spot = np.searchsorted(edges, rng.random(shape), side="right")
    return np.minimum(spot, len(edges) - 1).astype(np.int32)  # the last edge may round to just below one


def _race(drawn: Rows, size: int, chance: F8, rng: np.random.Generator) -> Rows:
    """Draw by exponential clocks of rate `chance`: the first `size` win; those in `drawn` have won already."""
    out = np.empty((len(drawn), size), dtype=np.int32)
    step = max(1, _CELLS // len(chance))
    for lo in range(0, len(drawn), step):
        block = drawn[lo : lo + step]
        clock = rng.exponential(size=(len(block), len(chance))) / chance
        np.put_along_axis(clock, block.astype(np.int64), -1.0, axis=1)
        out[lo : lo + step] = np.argpartition(clock, size - 1, axis=1)[:, :size]
    out.sort(axis=1)
    return out


# ----------------------------------------------------------------
# Random bipartite graphs with given degrees and no pair twice.

Counts = I8

# Rows with repeats that are fixed one by one; more are fixed in bulk.
_FEW = 1000


def regular_rows(n_rows: int, size: int, degree: Counts, rng: np.random.Generator) -> Rows:
    """Draw `size` different numbers for each row, in ascending order, number w in degree[w] rows (at most n_rows).

    The copies of all numbers are shuffled over the rows, then repeats within a row are swapped with other rows.

    >>> np.bincount(regular_rows(6, 2, np.full(4, 3), np.random.default_rng(0)).ravel()).tolist()
    [3, 3, 3, 3]
    """
    if 2 * size > len(degree):
        # Nearly full rows have few good swaps: draw the numbers that are left out instead.
        out = np.ones((n_rows, len(degree)), dtype=bool)
        left_out = _shuffled(n_rows, len(degree) - size, n_rows - degree, rng)
        np.put_along_axis(out, left_out.astype(np.int64), False, axis=1)
        return np.nonzero(out)[1].astype(np.int32).reshape(n_rows, size)
    return _shuffled(n_rows, size, degree, rng)


def _shuffled(n_rows: int, size: int, degree: Counts, rng: np.random.Generator) -> Rows:
    """Swap repeated numbers with those of random rows without them, until no row has a number twice.

    A swap never adds a repeat. One that removes none still moves the other numbers, so that tight tables do not lock.
    """
    places = np.repeat(np.arange(len(degree), dtype=np.int32), degree)
    table = np.sort(rng.permutation(places).reshape(n_rows, size), axis=1)
    incomplete = _bad(table, np.arange(n_rows))
    while len(incomplete) > _FEW:
        incomplete = _bad(table, np.union1d(incomplete, _swap_in_bulk(table, incomplete, rng)))
    for row in (table[i] for i in incomplete):
        while len(repeats := np.flatnonzero(row[1:] == row[:-1])):
            other = table[rng.integers(n_rows)]
            place, other_place = rng.choice(repeats), rng.integers(size)
            if row[place] not in other:
                row[place], other[other_place] = other[other_place], row[place]
                row.sort()
                other.sort()
    return table


def _bad(table: Rows, rows: I8) -> I8:
    some = table[rows]
    has_repeat: Mask = (some[:, 1:] == some[:, :-1]).any(axis=1)
    return rows[has_repeat]


def _swap_in_bulk(table: Rows, bad: I8, rng: np.random.Generator) -> I8:
    """Swap in many incomplete rows at once, each with a partner of its own; returns the partners."""
    first = rng.permutation(bad)[: len(table) // 2]
    free = np.ones(len(table), dtype=bool)
    free[first] = False
    second = rng.permutation(np.flatnonzero(free))[: len(first)]
    row, other = table[first], table[second]
    place = (row[:, 1:] == row[:, :-1]).argmax(axis=1)
    other_place, row_index = rng.integers(table.shape[1], size=len(first)), np.arange(len(first))
    repeated = row[row_index, place]
    can_swap = np.flatnonzero((other != repeated[:, None]).all(axis=1))
    row[can_swap, place[can_swap]] = other[can_swap, other_place[can_swap]]
    other[can_swap, other_place[can_swap]] = repeated[can_swap]
    table[first], table[second] = np.sort(row, axis=1), np.sort(other, axis=1)
    return second


Pairs = tuple[Codes, Codes]


class Assignment(ABC):
    """A rule for which worker labels which task. The random generator is passed to `draw`."""

    def __post_init__(self) -> None:
        check(self)

    @abstractmethod
    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:
        """Draw the codes of task and worker of every annotation, sorted by task and then by worker."""


@dataclass(frozen=True)
class PerTask(Assignment):
    """Every task is labelled by exactly `labels` different workers, all of them equally likely.

    Args:
        labels: Number of labels per task, at most the number of workers.

    >>> task, worker = PerTask(2).draw(3, 10, np.random.default_rng(0))
    >>> task.tolist()
    [0, 0, 1, 1, 2, 2]
    """

    labels: Count

    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:
        """Draw the same number of workers for each task."""
        _enough("labels", self.labels, n_workers)
        return _pairs(distinct_rows(n_tasks, self.labels, np.full(n_workers, 1 / n_workers), rng))


@dataclass(frozen=True)
class HeavyTailed(Assignment):
    """Every task is labelled by `labels` different workers; few workers do most tasks: activity ~ 1 / rank^exponent.

    Args:
        labels: Number of labels per task, at most the number of workers.
        exponent: Exponent of the activity; larger values give more of the labels to few workers, 0 makes all equally
            active.
    """

    labels: Count
    exponent: Annotated[float, Between(0, 10)] = 1.0

    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:
        """Draw the ranks first, so that no group is busier than another, and then the workers."""
        _enough("labels", self.labels, n_workers)
        activity = np.power(1.0 + rng.permutation(n_workers), -self.exponent, dtype=np.float64)
        return _pairs(distinct_rows(n_tasks, self.labels, activity, rng))


@dataclass(frozen=True)
class Regular(Assignment):
    """An (l, r)-regular graph: every task has `l` labels, every worker does `r` tasks.

    With n_tasks · l < n_workers · r the last workers do fewer tasks or none; n_tasks · l > n_workers · r is refused.

    Args:
        l: Number of labels per task.
        r: Number of tasks per worker, at most the number of tasks.
    """

    l: Count  # noqa: E741  (the papers' letter)
    r: Count

    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:
        """Draw a random graph with these degrees."""
        edges = n_tasks * self.l
        if edges > n_workers * self.r:
            raise ParameterError(
                f"{n_tasks} tasks with l={self.l} labels do not fit {n_workers} workers with r={self.r} tasks each; "
                f"take at least {-(-edges // self.r)} workers or r={-(-edges // n_workers)}"
            )
        if self.r > n_tasks:
            raise ParameterError(f"r={self.r} tasks per worker are more than the {n_tasks} tasks there are; lower r")
        degree = np.clip(edges - self.r * np.arange(-(-edges // self.r)), 0, self.r)
        return _pairs(regular_rows(n_tasks, self.l, degree, rng))


@dataclass(frozen=True)
class MissingAtRandom(Assignment):
    """Each (task, worker) pair is observed with probability `fraction`, independently of all others.

    With `keep_one` a task that would be left without a label gets one from a random worker.

    Args:
        fraction: Probability that a pair is observed; 1 observes all pairs.
        keep_one: Whether each task gets at least one label.
    """

    fraction: PositiveShare
    keep_one: bool = True

    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:
        """Draw the gaps between observed pairs, which are geometric, without a table of all pairs."""
        cells = n_tasks * n_workers
        cell = np.empty(0, dtype=np.int64)
        while not len(cell) or cell[-1] < cells:
            start = cell[-1] if len(cell) else -1
            n_gaps = int((cells - start) * self.fraction * 1.01) + 100
            gaps = np.minimum(rng.geometric(self.fraction, size=n_gaps), cells + 1)
            cell = np.concatenate([cell, start + np.cumsum(gaps)])
        cell = cell[cell < cells]
        if self.keep_one:
            empty = np.flatnonzero(np.bincount(cell // n_workers, minlength=n_tasks) == 0)
            cell = np.sort(np.concatenate([cell, empty * n_workers + rng.integers(n_workers, size=len(empty))]))
        return (cell // n_workers).astype(np.int32), (cell % n_workers).astype(np.int32)


@dataclass(frozen=True)
class Dense(Assignment):
    """Every worker does every task."""

    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:  # noqa: ARG002
        """Return all pairs."""
        return _pairs(np.tile(np.arange(n_workers, dtype=np.int32), (n_tasks, 1)))


def _enough(name: str, labels: int, n_workers: int) -> None:
    if labels > n_workers:
        raise ParameterError(f"{name}={labels} different workers per task, but there are only {n_workers}")


def _pairs(table: Rows) -> Pairs:
    n_tasks, labels = table.shape
    return np.repeat(np.arange(n_tasks, dtype=np.int32), labels), table.reshape(-1)
