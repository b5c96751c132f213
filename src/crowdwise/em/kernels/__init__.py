"""The E- and M-step kernels: one fused pass over task-sorted rows serves every confusion-matrix method.

`theta` and `counts` are laid out [worker, observed, true], so that the K entries used by one vote are contiguous.
Large data use the compiled kernels, small data plain numpy, which is faster than the import of numba. Both compute the
same values (tests compare them); the choice depends on the size of the data only (and on the number of fits:
`many_fits`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.arrays import F8, I4
from ..loop import Additive
from . import plain
from .memory import Memory

if TYPE_CHECKING:
    from ..rows import LabelRows


# Rows × classes from which the compiled kernels pay for their import.
COMPILED_FROM = 150_000
# The same divided by this if many fits share the cost of the import.
MANY_FITS = 6
_share: ContextVar[int] = ContextVar("share", default=1)
# Confusion entries are floored here so that 16 votes in a row stay inside the range of a double.
FLOOR = 1e-18


@dataclass(frozen=True)
class Stats(Additive):
    """Expected counts, additive over shards: counts[worker, observed, true] and mass[class]."""

    counts: F8
    mass: F8


def transposed(tables: F8) -> F8:
    """Return tables[worker, observed, true] as [worker, true, observed] or the reverse, as a contiguous array."""
    return np.ascontiguousarray(tables.transpose(0, 2, 1))


def n_threads() -> int:
    """Return the number of threads of the compiled kernels: CROWDWISE_THREADS, else the cores of this process."""
    setting = os.environ.get("CROWDWISE_THREADS", "")
    if setting.isdigit() and int(setting) > 0:
        return int(setting)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="crowdwise")


def shared_pool(kernel: Any, jobs: list[tuple[Any, ...]]) -> list[Any]:
    """Return kernel(*job) of every job, in order, run in threads; the kernel must release the GIL."""
    threads = min(n_threads(), len(jobs))
    if threads > 1:
        return list(_pool(threads).map(lambda job: kernel(*job), jobs))
    return [kernel(*job) for job in jobs]


@dataclass(eq=False)
class Workspace:
    """A shard with its gold and the arrays that are reused by its passes.

    A pass leaves its posterior in `memory`; the next pass overwrites it.
    """

    shard: LabelRows
    compiled: bool
    gold: I4 | None = None
    first: int = 0  # index of its first task among the tasks of all shards
    buffers: dict[str, F8] = field(default_factory=dict)
    runs: list[tuple[int, int]] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)

    @classmethod
    def of(cls, shard: LabelRows, gold: I4 | None = None, compiled: bool | None = None, first: int = 0) -> Workspace:
        """Return a workspace for a shard; gold[task] is a class, or n_classes where the truth is not known."""
        return cls(shard, pays_to_compile(shard) if compiled is None else compiled, gold, first)

    def chunks(self) -> list[tuple[int, int]]:
        """Return 2^n runs of tasks, chosen by the data alone so that sums have the same bits for any number of
        threads."""
        if self.runs:
            return self.runs
        shard = self.shard
        work = len(shard) * shard.n_classes
        table = shard.n_workers * shard.n_classes**2
        n = 1
        # With more chunks, clearing and adding up count tables would dominate the cost.
        while n < 16 and work >= 131_072 * n and work >= 16 * table * n:
            n *= 2
        cuts = np.searchsorted(shard.task_offsets, len(shard) * np.arange(1, n) // n).tolist()
        edges = [0, *cuts, shard.n_tasks]
        self.runs = list(pairwise(edges))
        return self.runs

    def buffer(self, name: str, shape: tuple[int, ...]) -> F8:
        """Return an array to overwrite, the same one at every call."""
        if name not in self.buffers or self.buffers[name].shape != shape:
            self.buffers[name] = np.empty(shape)
        return self.buffers[name]


def pays_to_compile(rows: LabelRows) -> bool:
    """Whether passes over these rows are faster compiled, including the import of the compiler."""
    return len(rows) * rows.n_classes * _share.get() >= COMPILED_FROM


@contextmanager
def many_fits() -> Iterator[None]:
    """Use the compiled kernels for smaller data too within this context, because many fits share their import."""
    token = _share.set(MANY_FITS)
    try:
        yield
    finally:
        _share.reset(token)


def accumulate(space: Workspace, theta: F8, prior: F8) -> tuple[Stats, float]:
    """Return the expected counts and the log-likelihood under theta[worker, observed, true] and prior[class].

    E-step and statistics are computed in one pass, which leaves the posterior in the memory of the workspace.
    """
    if space.compiled:
        return _compiled_pass(space, theta, prior, None)
    posterior, total = plain.e_step(space.shard, np.maximum(theta, FLOOR), np.maximum(prior, FLOOR), space.gold)
    space.memory.store(posterior)
    return plain.stats(space.shard, posterior), total


def e_step(space: Workspace, theta: F8, prior: F8) -> F8:
    """Return posterior[task, class] under theta[worker, observed, true] and prior[class] as a new array."""
    if space.compiled:
        _compiled_pass(space, theta, prior, None)
        return space.memory.take()
    return plain.e_step(space.shard, np.maximum(theta, FLOOR), np.maximum(prior, FLOOR), space.gold)[0]


def stats_of(space: Workspace, posterior: F8) -> Stats:
    """Return the expected counts of a given posterior."""
    if not space.compiled:
        return plain.stats(space.shard, posterior)
    return _compiled_pass(space, None, None, posterior)[0]


def _compiled_pass(space: Workspace, theta: F8 | None, prior: F8 | None, posterior: F8 | None) -> tuple[Stats, float]:
    from . import compiled

    shard, k = space.shard, space.shard.n_classes
    size = shard.n_workers * k * k
    chunks = space.chunks()
    # The first table becomes the sum, which is returned, so it is a new array; the others are reused.
    tables = [np.empty(size), *space.buffer("tables", (len(chunks) - 1, size))]
    masses = space.buffer("masses", (len(chunks), k))
    gold = np.empty(0, dtype=np.int32) if space.gold is None else space.gold
    weight = np.empty(0) if shard.weight is None else shard.weight
    if theta is None or prior is None:
        assert posterior is not None
        q = np.ascontiguousarray(posterior)
        step = compiled.scatter()
        jobs: list[tuple[Any, ...]] = [
            (shard.task_offsets, shard.cell, weight, q, tables[i], masses[i], lo, hi)
            for i, (lo, hi) in enumerate(chunks)
        ]
    else:
        q = space.memory.buffer((shard.n_tasks, k))
        step, table = compiled.sweep(weight, k, theta, FLOOR)
        base = compiled.prior_for(weight, k, prior, FLOOR)
        jobs = [
            (shard.task_offsets, shard.cell, weight, table, base, gold, q, tables[i], masses[i], lo, hi)
            for i, (lo, hi) in enumerate(chunks)
        ]
    totals = shared_pool(step, jobs)
    if posterior is None:
        space.memory.store(q)
    counts = compiled.ordered_sum(tables).reshape(shard.n_workers, k, k)
    return Stats(counts, masses.sum(axis=0)), float(sum(totals))
