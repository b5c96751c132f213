"""Who runs a job on every part of a source: this process, or threads of it; a cluster is another (cluster.py).

    driver.map(job)        job(shard) of every part, in the order of the parts
    driver.sum(job, add)   their sum along the fixed tree over the parts' numbers (`maths.em.Tree`)

A job is a pure function of parameters and one shard; what it gives is small (statistics) or belongs to the shard's
tasks. The order of sums is the parts' own, so every driver gives the same bits, in however many jobs the parts are
dealt out.
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
from .sources import Known, Source

V = TypeVar("V", bound=Votes[Any])
V_in = TypeVar("V_in", bound=Votes[Any], contravariant=True)
W = TypeVar("W")
W_co = TypeVar("W_co", covariant=True)
T = TypeVar("T")
Node = tuple[int, int, T]  # start, height, sum


class Prepare(Protocol[V_in, W_co]):
    """Makes a part ready for its passes."""

    def __call__(self, part: V_in, gold: Known | None, first: int, number: int) -> W_co:
        """The shard; `gold` is the truth of its tasks, `first` the number of its first task among all, `number` that
        of the part."""


class Jobs(Protocol[W_co]):
    """Runs jobs over all parts."""

    def map(self, job: Callable[[W_co], T]) -> Iterator[T]:
        """job(shard) of every part, in their order."""

    def sum(self, job: Callable[[W_co], T], add: Callable[[T, T], T]) -> T:
        """The sum of job(shard) over all parts."""


class Driver(Jobs[W_co], Protocol[W_co]):
    """Runs jobs over the parts of a source."""

    def under(self, prepare: Prepare[Any, Any]) -> Driver[Any]:
        """The same votes and hands with parts made ready in another way."""


# Who is to run the parts of a source: a driver's class, with its own options bound.
Executor = Callable[[Source[Any], Prepare[Any, Any]], Driver[Any]]


class Shards(Generic[V, W]):
    """The parts of a source, each made ready when it is asked for; those of a source that stays only once."""

    def __init__(self, source: Source[V], prepare: Prepare[V, W]) -> None:
        self.source, self.prepare = source, prepare
        self.first = list(accumulate(source.sizes.tasks, initial=0))
        self._ready: dict[int, W] = {}
        self._scratch = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.source, self.prepare)  # who gets them makes the parts ready themselves

    def __len__(self) -> int:
        return len(self.first) - 1

    def __getitem__(self, number: int) -> W:
        if number in self._ready:
            return self._ready[number]
        shard = self.prepare(self.source.part(number), self.source.known_classes(number), self.first[number], number)
        if self.source.stays:
            self._ready[number] = shard
        return shard

    def run(self, job: Callable[[W], T], number: int) -> T:
        """job(shard) of a part; all that a thread works on share its scratch arrays, one after the other."""
        shard = self[number]
        if hasattr(shard, "buffers"):
            if not hasattr(self._scratch, "buffers"):
                self._scratch.buffers = {}
            shard.buffers = self._scratch.buffers
        return job(shard)

    def nodes(self, job: Callable[[W], T], add: Callable[[T, T], T], lo: int, hi: int) -> list[Node[T]]:
        """What a run of parts adds up to, as nodes of the tree over all parts."""
        tree = Tree(add)
        for number in range(lo, hi):
            tree.put(number, self.run(job, number))
        return [(start, height, total) for (start, height), total in tree.nodes.items()]


def dealt(parts: int, jobs: int) -> list[tuple[int, int]]:
    """At most `jobs` runs of parts, about equally long."""
    jobs = max(1, min(parts, jobs))
    return list(pairwise([parts * i // jobs for i in range(jobs + 1)]))


class InProcess(Generic[V, W]):
    """One part after the other."""

    def __init__(self, source: Source[V], prepare: Prepare[V, W]) -> None:
        self.shards = Shards(source, prepare)

    def map(self, job: Callable[[W], T]) -> Iterator[T]:
        """job(shard) of every part, in their order."""
        return (self.shards.run(job, number) for number in range(len(self.shards)))

    def sum(self, job: Callable[[W], T], add: Callable[[T, T], T]) -> T:
        """The sum of job(shard) over all parts."""
        return tree_sum(self.map(job), add)

    def under(self, prepare: Prepare[Any, Any]) -> Self:
        """The same votes with parts made ready in another way."""
        return type(self)(self.shards.source, prepare)


class Threads(InProcess[V, W]):
    """Several parts at a time, never more in memory than there are threads."""

    def __init__(self, source: Source[V], prepare: Prepare[V, W], threads: int, jobs: int | None = None) -> None:
        super().__init__(source, prepare)
        self.threads, self.jobs = threads, jobs

    def map(self, job: Callable[[W], T]) -> Iterator[T]:
        """job(shard) of every part, in their order."""
        runs = [(number, number + 1) for number in range(len(self.shards))]
        return self._run(runs, lambda lo, hi: self.shards.run(job, lo))  # noqa: ARG005

    def sum(self, job: Callable[[W], T], add: Callable[[T, T], T]) -> T:
        """The sum of job(shard) over all parts, those of one job added up by whoever has it."""
        runs = dealt(len(self.shards), len(self.shards) if self.jobs is None else self.jobs)
        tree = Tree(add)
        for nodes in self._run(runs, lambda lo, hi: self.shards.nodes(job, add, lo, hi)):
            for start, height, total in nodes:
                tree.put(start, total, height)
        return tree.total()

    def under(self, prepare: Prepare[Any, Any]) -> Self:
        """The same votes and threads with parts made ready in another way."""
        return type(self)(self.shards.source, prepare, self.threads, self.jobs)

    def _run(self, runs: list[tuple[int, int]], work: Callable[[int, int], T]) -> Iterator[T]:
        # A pool of its own: the kernels' pool must not wait for itself.
        with ThreadPoolExecutor(self.threads, thread_name_prefix="crowdwise-shards") as pool:
            running: deque[Future[T]] = deque()
            for lo, hi in runs:
                if len(running) >= self.threads:
                    yield running.popleft().result()
                running.append(pool.submit(work, lo, hi))
            while running:
                yield running.popleft().result()
