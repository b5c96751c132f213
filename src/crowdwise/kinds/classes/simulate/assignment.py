"""Who is asked what: each assignment draws the (task, worker) pairs, no pair twice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ....core.errors import ParameterError
from ....core.params import Between, Count, PositiveShare, check
from ....core.vocabulary import Codes

# ---------------------------------------------------------------- Distinct random workers for every task, in bulk

F8 = npt.NDArray[np.float64]
Table = npt.NDArray[np.int32]

# Rounds of redrawing before the stragglers are raced, and cells of a random table held at a time.
_ROUNDS = 30
_CELLS = 4_000_000


def distinct_rows(n_rows: int, size: int, chance: F8, rng: np.random.Generator) -> Table:
    """For each row `size` different numbers below len(chance), drawn one after the other by chance; rows ascend.

    Numbers are drawn with replacement and repeats are drawn again, which is the same as drawing until enough
    different ones came up. Where that takes long (nearly everybody is wanted, or few have all the chance), the
    missing ones are raced for, which draws from the same distribution at a cost of len(chance) per row.

    >>> distinct_rows(2, 3, np.full(3, 1 / 3), np.random.default_rng(0)).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    if 4 * size > len(chance):
        return _race(np.empty((n_rows, 0), dtype=np.int32), size, chance, rng)
    edges = np.cumsum(chance / chance.sum())
    out = np.sort(_throw(edges, (n_rows, size), rng), axis=1)
    todo = np.flatnonzero(_repeats(out).any(axis=1))
    for _ in range(_ROUNDS):
        if not len(todo):
            return out
        rows = out[todo]
        again = _repeats(rows)
        rows[again] = _throw(edges, (int(again.sum()),), rng)
        rows.sort(axis=1)
        out[todo] = rows
        todo = todo[_repeats(rows).any(axis=1)]
    out[todo] = _race(out[todo], size, chance, rng)
    return out


def _repeats(rows: Table) -> npt.NDArray[np.bool_]:
    """Which entries of ascending rows equal the one before."""
    again = np.zeros(rows.shape, dtype=bool)
    np.equal(rows[:, 1:], rows[:, :-1], out=again[:, 1:])
    return again


def _throw(edges: F8, shape: tuple[int, ...], rng: np.random.Generator) -> Table:
    spot = np.searchsorted(edges, rng.random(shape), side="right")
    return np.minimum(spot, len(edges) - 1).astype(np.int32)  # the last edge may round to just below one


def _race(kept: Table, size: int, chance: F8, rng: np.random.Generator) -> Table:
    """Exponential clocks of speed `chance`, the first `size` win; those of `kept` have won already."""
    out = np.empty((len(kept), size), dtype=np.int32)
    step = max(1, _CELLS // len(chance))
    for lo in range(0, len(kept), step):
        held = kept[lo : lo + step]
        clock = rng.exponential(size=(len(held), len(chance))) / chance
        np.put_along_axis(clock, held.astype(np.int64), -1.0, axis=1)
        out[lo : lo + step] = np.argpartition(clock, size - 1, axis=1)[:, :size]
    out.sort(axis=1)
    return out


# ----------------------------------------------------------------
# Random bipartite graphs with given degrees and no pair twice.

Counts = npt.NDArray[np.int64]

# Rows with repeats that are fixed one by one; more are fixed in bulk.
_FEW = 1000


def regular_rows(n_rows: int, size: int, degree: Counts, rng: np.random.Generator) -> Table:
    """For each row `size` different numbers, number w in degree[w] rows (at most n_rows); rows ascend.

    The places of all numbers are shuffled over the rows, then repeats within a row are swapped away.

    >>> np.bincount(regular_rows(6, 2, np.full(4, 3), np.random.default_rng(0)).ravel()).tolist()
    [3, 3, 3, 3]
    """
    if 2 * size > len(degree):
        # Nearly full rows have few good swaps: draw who is left out instead.
        out = np.ones((n_rows, len(degree)), dtype=bool)
        left_out = _shuffled(n_rows, len(degree) - size, n_rows - degree, rng)
        np.put_along_axis(out, left_out.astype(np.int64), False, axis=1)
        return np.nonzero(out)[1].astype(np.int32).reshape(n_rows, size)
    return _shuffled(n_rows, size, degree, rng)


def _shuffled(n_rows: int, size: int, degree: Counts, rng: np.random.Generator) -> Table:
    """Swap a repeated number against one of a random row where it is not, until no row has any number twice.

    A swap never adds a repeat; one that removes none still moves the rest about, so that tight tables do not lock.
    """
    places = np.repeat(np.arange(len(degree), dtype=np.int32), degree)
    table = np.sort(rng.permutation(places).reshape(n_rows, size), axis=1)
    bad = _bad(table, np.arange(n_rows))
    while len(bad) > _FEW:
        bad = _bad(table, np.union1d(bad, _swap_in_bulk(table, bad, rng)))
    for row in (table[i] for i in bad):
        while len(repeats := np.flatnonzero(row[1:] == row[:-1])):
            other = table[rng.integers(n_rows)]
            mine, theirs = rng.choice(repeats), rng.integers(size)
            if row[mine] not in other:
                row[mine], other[theirs] = other[theirs], row[mine]
                row.sort()
                other.sort()
    return table


def _bad(table: Table, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    part = table[rows]
    again: npt.NDArray[np.bool_] = (part[:, 1:] == part[:, :-1]).any(axis=1)
    return rows[again]


def _swap_in_bulk(table: Table, bad: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The same swap for many bad rows at once, each with a partner of its own; returns the partners."""
    first = rng.permutation(bad)[: len(table) // 2]
    free = np.ones(len(table), dtype=bool)
    free[first] = False
    second = rng.permutation(np.flatnonzero(free))[: len(first)]
    row, other = table[first], table[second]
    mine = (row[:, 1:] == row[:, :-1]).argmax(axis=1)
    theirs, each = rng.integers(table.shape[1], size=len(first)), np.arange(len(first))
    gone = row[each, mine]
    ok = np.flatnonzero((other != gone[:, None]).all(axis=1))
    row[ok, mine[ok]] = other[ok, theirs[ok]]
    other[ok, theirs[ok]] = gone[ok]
    table[first], table[second] = np.sort(row, axis=1), np.sort(other, axis=1)
    return second


Pairs = tuple[Codes, Codes]


class Assignment(ABC):
    """A way to hand out tasks; frozen, the dice are passed in."""

    def __post_init__(self) -> None:
        check(self)

    @abstractmethod
    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:
        """Codes of task and worker of every annotation, sorted by task and then by worker."""


@dataclass(frozen=True)
class PerTask(Assignment):
    """Every task is done by exactly `labels` different workers, all of them equally likely.

    >>> task, worker = PerTask(2).draw(3, 10, np.random.default_rng(0))
    >>> task.tolist()
    [0, 0, 1, 1, 2, 2]
    """

    labels: Count

    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:
        """So many labels for each task."""
        _enough("labels", self.labels, n_workers)
        return _pairs(distinct_rows(n_tasks, self.labels, np.full(n_workers, 1 / n_workers), rng))


@dataclass(frozen=True)
class HeavyTailed(Assignment):
    """Every task is done by `labels` different workers, of whom a few do most: activity ~ 1 / rank^exponent."""

    labels: Count
    exponent: Annotated[float, Between(0, 10)] = 1.0

    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:
        """Ranks are drawn first, so that no group is busier than another."""
        _enough("labels", self.labels, n_workers)
        activity = np.power(1.0 + rng.permutation(n_workers), -self.exponent, dtype=np.float64)
        return _pairs(distinct_rows(n_tasks, self.labels, activity, rng))


@dataclass(frozen=True)
class Regular(Assignment):
    """An (l, r)-regular graph: every task has `l` labels, every worker does `r` tasks.

    With n_tasks · l < n_workers · r the last workers do fewer tasks, or none; with more, the tasks do not fit.
    """

    l: Count  # noqa: E741  (the papers' letter)
    r: Count

    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:
        """A random graph with these degrees."""
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
    """

    fraction: PositiveShare
    keep_one: bool = True

    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:
        """The gaps between observed pairs are geometric: no table of all pairs is ever made."""
        cells = n_tasks * n_workers
        seen = np.empty(0, dtype=np.int64)
        while not len(seen) or seen[-1] < cells:
            start = seen[-1] if len(seen) else -1
            more = int((cells - start) * self.fraction * 1.01) + 100
            gaps = np.minimum(rng.geometric(self.fraction, size=more), cells + 1)
            seen = np.concatenate([seen, start + np.cumsum(gaps)])
        seen = seen[seen < cells]
        if self.keep_one:
            empty = np.flatnonzero(np.bincount(seen // n_workers, minlength=n_tasks) == 0)
            seen = np.sort(np.concatenate([seen, empty * n_workers + rng.integers(n_workers, size=len(empty))]))
        return (seen // n_workers).astype(np.int32), (seen % n_workers).astype(np.int32)


@dataclass(frozen=True)
class Dense(Assignment):
    """Every worker does every task."""

    def draw(self, n_tasks: int, n_workers: int, rng: np.random.Generator) -> Pairs:  # noqa: ARG002
        """Nothing is drawn."""
        return _pairs(np.tile(np.arange(n_workers, dtype=np.int32), (n_tasks, 1)))


def _enough(name: str, labels: int, n_workers: int) -> None:
    if labels > n_workers:
        raise ParameterError(f"{name}={labels} different workers per task are more than the {n_workers} there are")


def _pairs(table: Table) -> Pairs:
    n_tasks, labels = table.shape
    return np.repeat(np.arange(n_tasks, dtype=np.int32), labels), table.reshape(-1)
