"""Who is asked what: each assignment draws the (task, worker) pairs, no pair twice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ..core.errors import ParameterError
from ..core.params import Count, PositiveShare, check
from ..core.rules import Between
from ..core.vocabulary import Codes
from .distinct import Table, distinct_rows
from .regular import regular_rows

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
