"""Where EM may begin: functions from a shard to a first posterior[task, class] of its tasks.

A start says the same of a task whatever shard it is in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...maths.kernels import Workspace
from ...maths.logspace import normalise_rows, shares, shares_in_place
from ..learnt import Judge
from ..spread import clamped
from ..voting.base import scores

F8 = npt.NDArray[np.float64]
Start = Callable[[Workspace], F8]
# Rows of random numbers that are drawn at a time, when those before a shard's are passed over.
BLOCK = 1 << 16


def by_votes(space: Workspace) -> F8:
    """The usual start: vote shares, with certainty on gold."""
    return clamped(space, shares_in_place(space.shard.count_votes()))


@dataclass(frozen=True, eq=False)
class Given:
    """A posterior of all tasks that something else has found."""

    posterior: F8

    def __call__(self, space: Workspace) -> F8:
        """The shard's part of it."""
        return self.posterior[space.first : space.first + space.shard.n_tasks]


@dataclass(frozen=True, eq=False)
class JudgedBy:
    """What another method has learnt says of the tasks."""

    judge: Judge

    def __call__(self, space: Workspace) -> F8:
        """Its posterior, with certainty on gold."""
        return clamped(space, self.judge(space).posterior)


@dataclass(frozen=True, eq=False)
class Mixed:
    """Half vote shares, half noise from a stream of its own."""

    stream: np.random.SeedSequence

    def __call__(self, space: Workspace) -> F8:
        """The mixture for a shard."""
        noise = drawn(self.stream, space, space.shard.n_classes)
        return clamped(space, (by_votes(space) + noise) / 2)


@dataclass(frozen=True, eq=False)
class Weighed:
    """Shares of a vote in which worker w counts weight[w]."""

    weight: F8

    def __call__(self, space: Workspace) -> F8:
        """The shares for a shard."""
        return clamped(space, shares(scores(space.shard, self.weight)))


@dataclass(frozen=True)
class Reliable:
    """The posterior when all workers are right with the same odds."""

    odds: float

    def __call__(self, space: Workspace) -> F8:
        """The posterior of a shard."""
        return clamped(space, normalise_rows(float(np.log(self.odds)) * space.shard.count_votes())[0])


def drawn(stream: np.random.SeedSequence, space: Workspace, k: int) -> F8:
    """k random shares for each task of a shard: its rows of one long table that the stream draws for all tasks."""
    rng, ones = np.random.default_rng(stream), np.ones(k)
    for lo in range(0, space.first, BLOCK):
        rng.dirichlet(ones, min(BLOCK, space.first - lo))
    return rng.dirichlet(ones, space.shard.n_tasks)
