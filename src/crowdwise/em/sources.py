"""Sources of votes for passes: the votes in parts, each with all answers of its tasks.

    source.sizes                   the sizes, available before anything is read
    source.part(number)            one part; the same number always gives the same part
    source.gold_codes(number)   gold codes of its tasks

Workers and answers have the same codes in every part, tasks are numbered from 0 in each. Votes in memory are one
source, memory-mapped files another. Methods do not depend on the number of parts. The partition is a function of the
votes alone, because sums go along a tree over the parts' numbers. A source on disk is small when it is sent to another
process, which opens the files itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from ..core.arrays import I4
from ..core.votes import Votes

GoldCodes = I4
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
        """Number of parts."""
        return len(self.tasks)

    @property
    def n_tasks(self) -> int:
        """Number of tasks of all parts."""
        return sum(self.tasks)


class Source(Protocol[V_co]):
    """Votes in parts."""

    @property
    def sizes(self) -> Sizes:
        """Sizes of the votes."""

    @property
    def stays(self) -> bool:
        """Whether the parts stay in memory, so that arrays derived from them may be cached."""

    def part(self, number: int) -> V_co:
        """Return one part."""

    def gold_codes(self, number: int) -> GoldCodes | None:
        """Return the gold codes of a part's tasks, n_classes for tasks without gold; None if there is no gold."""


@dataclass(frozen=True, eq=False)
class WithoutGold(Generic[V_co]):
    """A source without its gold."""

    inner: Source[V_co]

    @property
    def sizes(self) -> Sizes:
        """Sizes of the votes."""
        return self.inner.sizes

    @property
    def stays(self) -> bool:
        """Whether the parts stay in memory."""
        return self.inner.stays

    def part(self, number: int) -> V_co:
        """Return one part."""
        return self.inner.part(number)

    def gold_codes(self, number: int) -> GoldCodes | None:  # noqa: ARG002
        """Return None."""
        return None


@dataclass(frozen=True, eq=False)
class InMemory(Generic[V]):
    """Votes in memory, split into at most `n` runs of consecutive tasks with about the same number of rows."""

    votes: V
    n: int = 1
    stays: bool = True
    gold: GoldCodes | None = None

    @property
    def sizes(self) -> Sizes:
        """Sizes of the votes."""
        return Sizes(len(self.votes), self.votes.n_workers, tuple(part.n_tasks for part in self._parts))

    def part(self, number: int) -> V:
        """Return one run of tasks."""
        return self._parts[number]

    def gold_codes(self, number: int) -> GoldCodes | None:
        """Return the gold codes of its tasks."""
        if self.gold is None:
            return None
        first = sum(part.n_tasks for part in self._parts[:number])
        return self.gold[first : first + self._parts[number].n_tasks]

    def shards(self) -> Iterator[V]:
        """Iterate over all runs of tasks."""
        return iter(self._parts)

    @cached_property
    def _parts(self) -> list[V]:
        return [self.votes] if self.n == 1 else self.votes.shards(self.n)
