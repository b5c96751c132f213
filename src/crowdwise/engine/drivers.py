"""Who runs a job on every shard of a source: this process, or threads of it. A cluster is another driver.

    driver.map(job)   job(shard) of every shard, in the order of the shards

A job is a pure function of parameters and one shard; what it gives is small (statistics) or belongs to the shard's
tasks. The order of sums is the shards' own (`maths.em.tree_sum`), so every driver gives the same bits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, Protocol, TypeVar

from ..core.votes import Votes
from .sources import Source

V = TypeVar("V", bound=Votes[Any])
W = TypeVar("W")
W_co = TypeVar("W_co", covariant=True)
T = TypeVar("T")
# Makes a shard ready for its passes: votes, and the number of their first task.
Prepare = Callable[[V, int], W]


class Driver(Protocol[W_co]):
    """Maps a job over shards."""

    @property
    def far(self) -> bool:
        """Whether there are too many tasks for an array of all of them."""

    def map(self, job: Callable[[W_co], T]) -> Iterator[T]:
        """job(shard) of every shard, in their order."""


class InProcess(Generic[V, W]):
    """One shard after the other; shards of a source that stays are made ready once."""

    def __init__(self, source: Source[V], prepare: Callable[[V, int], W]) -> None:
        self.source, self.prepare = source, prepare
        self._ready: list[W] | None = None

    @property
    def far(self) -> bool:
        """Whether there are too many tasks for an array of all of them."""
        return self.source.far

    def shards(self) -> Iterator[W]:
        """The shards, ready for a pass."""
        if not self.source.stays:
            return self._made()
        if self._ready is None:
            self._ready = list(self._made())
        return iter(self._ready)

    def map(self, job: Callable[[W], T]) -> Iterator[T]:
        """job(shard) of every shard, in their order."""
        return map(job, self.shards())

    def _made(self) -> Iterator[W]:
        first = 0
        for part in self.source.shards():
            yield self.prepare(part, first)
            first += part.n_tasks


class Threads(InProcess[V, W]):
    """Several shards at a time, never more in memory than there are threads."""

    def __init__(self, source: Source[V], prepare: Callable[[V, int], W], threads: int) -> None:
        super().__init__(source, prepare)
        self.threads = threads

    def map(self, job: Callable[[W], T]) -> Iterator[T]:
        """job(shard) of every shard, in their order."""
        # A pool of its own: the kernels' pool must not wait for itself.
        with ThreadPoolExecutor(self.threads, thread_name_prefix="crowdwise-shards") as pool:
            running: deque[Future[T]] = deque()
            for shard in self.shards():
                if len(running) >= self.threads:
                    yield running.popleft().result()
                running.append(pool.submit(job, shard))
            while running:
                yield running.popleft().result()
