"""Drivers, which run a job on every part of a source: in this process or in threads; cluster.py adds Dask.

    driver.map(job)        job(shard) of every part, in the order of the parts
    driver.sum(job, add)   their sum along the fixed tree over the parts' numbers (`loop.Tree`)

A job is a pure function of parameters and one shard; its result is small (statistics) or has one row per task of the
shard. The order of sums is fixed by the parts, so every driver gives the same bits for any number of jobs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate, pairwise
from typing import Any, Generic, Protocol, Self, TypeVar

from ..core.votes import Votes
from .loop import Tree, tree_sum
from .sources import GoldCodes, Source

V = TypeVar("V", bound=Votes[Any])
V_in = TypeVar("V_in", bound=Votes[Any], contravariant=True)
W = TypeVar("W")
W_co = TypeVar("W_co", covariant=True)
T = TypeVar("T")
Node = tuple[int, int, T]  # start, height, sum


class Prepare(Protocol[V_in, W_co]):
    """Prepares a part for passes."""

    def __call__(self, part: V_in, gold: GoldCodes | None, first: int, number: int) -> W_co:
        """Return the shard of a part.

        Args:
            part: The part.
            gold: Gold codes of its tasks.
            first: Index of its first task among all tasks.
            number: Number of the part.
        """


class Jobs(Protocol[W_co]):
    """Runs jobs over all parts."""

    def map(self, job: Callable[[W_co], T]) -> Iterator[T]:
        """Yield job(shard) of every part, in order."""

    def sum(self, job: Callable[[W_co], T], add: Callable[[T, T], T]) -> T:
        """Return the sum of job(shard) over all parts."""


class Driver(Jobs[W_co], Protocol[W_co]):
    """Runs jobs over the parts of a source."""

    def under(self, prepare: Prepare[Any, Any]) -> Driver[Any]:
        """Return a driver for the same votes that prepares the parts in another way."""


# Makes a driver for a source: a driver's class with its options bound.
Executor = Callable[[Source[Any], Prepare[Any, Any]], Driver[Any]]


class Shards(Generic[V, W]):
    """The parts of a source, prepared on access; those of a source in memory are prepared once."""

    def __init__(self, source: Source[V], prepare: Prepare[V, W]) -> None:
        self.source, self.prepare = source, prepare
        self.first = list(accumulate(source.sizes.tasks, initial=0))
        self._ready: dict[int, W] = {}
        self._scratch = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.source, self.prepare)  # the receiving process prepares the parts itself

    def __len__(self) -> int:
        return len(self.first) - 1

    def __getitem__(self, number: int) -> W:
        if number in self._ready:
            return self._ready[number]
        shard = self.prepare(self.source.part(number), self.source.gold_codes(number), self.first[number], number)
        if self.source.stays:
            self._ready[number] = shard
        return shard

    def run(self, job: Callable[[W], T], number: int) -> T:
        """Return job(shard) of a part; the shards that a thread works on share its scratch arrays."""
        shard = self[number]
        if hasattr(shard, "buffers"):
            if not hasattr(self._scratch, "buffers"):
                self._scratch.buffers = {}
            shard.buffers = self._scratch.buffers
        return job(shard)

    def nodes(self, job: Callable[[W], T], add: Callable[[T, T], T], lo: int, hi: int) -> list[Node[T]]:
        """Return the sums of a run of parts as nodes of the tree over all parts."""
        tree = Tree(add)
        for number in range(lo, hi):
            tree.put(number, self.run(job, number))
        return [(start, height, total) for (start, height), total in tree.nodes.items()]


def runs_of_parts(parts: int, jobs: int) -> list[tuple[int, int]]:
    """Divide the parts into at most `jobs` runs of about equal length."""
    jobs = max(1, min(parts, jobs))
    return list(pairwise([parts * i // jobs for i in range(jobs + 1)]))


class InProcess(Generic[V, W]):
    """Runs the parts one after the other in this process."""

    def __init__(self, source: Source[V], prepare: Prepare[V, W]) -> None:
        self.shards = Shards(source, prepare)

    def map(self, job: Callable[[W], T]) -> Iterator[T]:
        """Yield job(shard) of every part, in order."""
        return (self.shards.run(job, number) for number in range(len(self.shards)))

    def sum(self, job: Callable[[W], T], add: Callable[[T, T], T]) -> T:
        """Return the sum of job(shard) over all parts."""
        return tree_sum(self.map(job), add)

    def under(self, prepare: Prepare[Any, Any]) -> Self:
        """Return a driver for the same votes that prepares the parts in another way."""
        return type(self)(self.shards.source, prepare)


class Threads(InProcess[V, W]):
    """Runs the parts in threads; no more parts are in memory at a time than there are threads."""

    def __init__(self, source: Source[V], prepare: Prepare[V, W], threads: int, jobs: int | None = None) -> None:
        super().__init__(source, prepare)
        self.threads, self.jobs = threads, jobs

    def map(self, job: Callable[[W], T]) -> Iterator[T]:
        """Yield job(shard) of every part, in order."""
        runs = [(number, number + 1) for number in range(len(self.shards))]
        return self._run(runs, lambda lo, hi: self.shards.run(job, lo))  # noqa: ARG005

    def sum(self, job: Callable[[W], T], add: Callable[[T, T], T]) -> T:
        """Return the sum of job(shard) over all parts; each thread adds up the parts of its job."""
        runs = runs_of_parts(len(self.shards), len(self.shards) if self.jobs is None else self.jobs)
        tree = Tree(add)
        for nodes in self._run(runs, lambda lo, hi: self.shards.nodes(job, add, lo, hi)):
            for start, height, total in nodes:
                tree.put(start, total, height)
        return tree.total()

    def under(self, prepare: Prepare[Any, Any]) -> Self:
        """Return a driver for the same votes and threads that prepares the parts in another way."""
        return type(self)(self.shards.source, prepare, self.threads, self.jobs)

    def _run(self, runs: list[tuple[int, int]], work: Callable[[int, int], T]) -> Iterator[T]:
        # A separate pool, because jobs wait for the kernels' pool.
        with ThreadPoolExecutor(self.threads, thread_name_prefix="crowdwise-shards") as pool:
            running: deque[Future[T]] = deque()
            for lo, hi in runs:
                if len(running) >= self.threads:
                    yield running.popleft().result()
                running.append(pool.submit(work, lo, hi))
            while running:
                yield running.popleft().result()
