"""Where votes come from when a pass goes over them: in parts, each with all answers of its tasks.

    source.sizes           how much there is, before anything is read
    source.part(number)    one part; its number says what is in it, for good
    source.known(number)   the known truth of its tasks

Workers and answers have the same codes in every part, tasks are counted from 0 in each. Votes in memory are one source,
memory-mapped files another. Methods never ask how many parts there are. How the votes are cut is a function of the
votes alone, never of who works on them: sums go along a tree over the parts' numbers. A source that does not stay is
small when it is sent to another process, and opens its files there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ..core.votes import Votes

Known = npt.NDArray[np.int32]
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

    def part(self, number: int) -> V_co:
        """One part."""

    def known_classes(self, number: int) -> Known | None:
        """The known class of each task of a part, n_classes where it is not known; None where nothing is."""


@dataclass(frozen=True, eq=False)
class WithoutGold(Generic[V_co]):
    """The parts of a source, of whose tasks nothing is known."""

    inner: Source[V_co]

    @property
    def sizes(self) -> Sizes:
        """As its source."""
        return self.inner.sizes

    @property
    def stays(self) -> bool:
        """As its source."""
        return self.inner.stays

    def part(self, number: int) -> V_co:
        """One part."""
        return self.inner.part(number)

    def known_classes(self, number: int) -> Known | None:  # noqa: ARG002
        """Nothing."""
        return None


@dataclass(frozen=True, eq=False)
class InMemory(Generic[V]):
    """Votes in memory, as at most `n` runs of consecutive tasks with about equally many rows."""

    votes: V
    n: int = 1
    stays: bool = True
    gold: Known | None = None

    @property
    def sizes(self) -> Sizes:
        """How much there is."""
        return Sizes(len(self.votes), self.votes.n_workers, tuple(part.n_tasks for part in self._parts))

    def part(self, number: int) -> V:
        """One run of tasks; a single one is the votes themselves."""
        return self._parts[number]

    def known_classes(self, number: int) -> Known | None:
        """The known class of each of its tasks."""
        if self.gold is None:
            return None
        first = sum(part.n_tasks for part in self._parts[:number])
        return self.gold[first : first + self._parts[number].n_tasks]

    def shards(self) -> Iterator[V]:
        """All runs of tasks."""
        return iter(self._parts)

    @cached_property
    def _parts(self) -> list[V]:
        return [self.votes] if self.n == 1 else self.votes.shards(self.n)
