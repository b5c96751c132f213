"""Where votes come from when a pass goes over them: in parts, each with all answers of its tasks.

    source.sizes      how much there is, before anything is read
    source.shards()   the parts, in an order that never changes
    source.part(i)    one of them, so that whoever works on it can open it themselves

Workers and answers have the same codes in every part, tasks are counted from 0 in each. Votes in memory are one source;
memory-mapped files and Dask are others. Methods never ask how many parts there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from ..core.votes import Votes

V = TypeVar("V", bound=Votes[Any])
V_co = TypeVar("V_co", bound=Votes[Any], covariant=True)


@dataclass(frozen=True)
class Sizes:
    """Rows and workers of all parts, and the tasks of each."""

    rows: int
    workers: int
    tasks: tuple[int, ...]

    @property
    def shards(self) -> int:
        """The number of parts."""
        return len(self.tasks)

    @property
    def n_tasks(self) -> int:
        """The tasks of all parts."""
        return sum(self.tasks)


class Source(Protocol[V_co]):
    """Votes in parts."""

    @property
    def sizes(self) -> Sizes:
        """How much there is."""

    @property
    def stays(self) -> bool:
        """Whether the parts stay in memory, so that what is worked out of them once may be kept."""

    @property
    def far(self) -> bool:
        """Whether there may be too many tasks for an array of all of them."""

    def shards(self) -> Iterator[V_co]:
        """The parts, always in the same order."""

    def part(self, number: int) -> V_co:
        """One of them."""


@dataclass(frozen=True, eq=False)
class InMemory(Generic[V]):
    """Votes in memory, as at most `n` runs of consecutive tasks with about equally many rows."""

    votes: V
    n: int = 1
    stays: bool = True
    far: bool = False

    @property
    def sizes(self) -> Sizes:
        """How much there is."""
        return Sizes(len(self.votes), self.votes.n_workers, tuple(part.n_tasks for part in self._parts))

    def shards(self) -> Iterator[V]:
        """The runs of tasks; a single one is the votes themselves."""
        return iter(self._parts)

    def part(self, number: int) -> V:
        """One of them."""
        return self._parts[number]

    @cached_property
    def _parts(self) -> list[V]:
        return [self.votes] if self.n == 1 else self.votes.shards(self.n)
