"""Passes over parts on a Dask cluster: at a given address, or of local processes, which are started and closed here.

    with dask_executor("tcp://10.0.0.7:8786") as executor:      # or "local", "local:4"
        fit_parts(method, source, executor)

Jobs are pure functions of their arguments and the number of a part, which the worker opens itself. The data that all
jobs of a pass need (the parameters) is sent once, as the result of a task: workers copy it from each other, and if its
owner dies the scheduler recomputes it. Sums arrive in any order, as nodes of one tree over the parts' numbers, so the
result depends neither on the number of workers nor on failures.
"""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, Generic, Self, TypeVar

from ..core.errors import DataError, MissingDependencyError, ParameterError
from ..core.faults import first_line
from ..core.votes import Votes
from .drivers import Executor, Node, Prepare, Shards
from .loop import Tree
from .sources import Source

V = TypeVar("V", bound=Votes[Any])
W = TypeVar("W")
T = TypeVar("T")
# Jobs per thread of the cluster in one pass: few stragglers, and every job sends one table of sums.
JOBS_PER_THREAD = 2
# Seconds to wait for the scheduler's answer.
CONNECT_TIMEOUT = 10
# After this many deaths of workers on the same part, the pass fails.
ALLOWED_FAILURES = 20
# Local processes keep freed memory up to this size: with Dask's own setting, each table of a part is returned to the
# system and allocated and cleared again for the next part, which costs a third of a pass.
MALLOC = {"MALLOC_TRIM_THRESHOLD_": 1 << 28, "MALLOC_MMAP_THRESHOLD_": 1 << 25}
# Seconds between restarts of lost local processes, and between updates of the list of workers.
RETRY_SECONDS = 5.0


class Dask(Generic[V, W]):
    """A driver over a `dask.distributed.Client`; `jobs` is the number of jobs that the parts are divided into."""

    def __init__(self, source: Source[V], prepare: Prepare[V, W], client: Any, jobs: int | None = None) -> None:
        self.source, self.prepare, self.client, self.jobs = source, prepare, client, jobs
        self.n = source.sizes.shards
        self._shards: Any = None
        self._known_slots: list[str | None] = []
        self._slots_read_at = float("-inf")

    def map(self, job: Callable[[W], T]) -> Iterator[T]:
        """Yield job(shard) of every part, in order; the number of pending jobs is limited by the cluster's threads."""
        with self._errors():
            job_future, slots = self._scatter(job), self._slots()
            running: deque[Any] = deque()
            for number in range(self.n):
                if len(running) >= JOBS_PER_THREAD * len(slots):
                    yield running.popleft().result()
                running.append(self._submit(_run_part, job_future, slots[number % len(slots)], number))
            while running:
                yield running.popleft().result()

    def sum(self, job: Callable[[W], T], add: Callable[[T, T], T]) -> T:
        """Return the sum of job(shard) over all parts; it does not depend on the order in which sums arrive."""
        tree = Tree(add)
        with self._errors():
            job_future, slots = self._scatter((job, add)), self._slots()
            runs = enumerate(self._runs(len(slots)))
            running = [self._submit(_run_parts, job_future, slots[i % len(slots)], lo, hi) for i, (lo, hi) in runs]
            for future in import_module("distributed").as_completed(running, loop=self.client.loop):
                for start, height, total in future.result():
                    tree.put(start, total, height)
                future.release()
        return tree.total()

    def under(self, prepare: Prepare[Any, Any]) -> Self:
        """Return a driver for the same votes and cluster that prepares the parts in another way."""
        return type(self)(self.source, prepare, self.client, self.jobs)

    def _runs(self, slots: int) -> list[tuple[int, int]]:
        """Return runs of 2^n parts: each is one node of the tree, so one table is sent per run."""
        jobs, size = JOBS_PER_THREAD * slots if self.jobs is None else self.jobs, 1
        while self.n > size * jobs:
            size *= 2
        return [(lo, min(lo + size, self.n)) for lo in range(0, self.n, size)]

    def _slots(self) -> list[str | None]:
        """Return the workers of the cluster, each repeated by its number of threads, in turn."""
        if time.monotonic() - self._slots_read_at > RETRY_SECONDS:
            threads = {where: int(n) for where, n in sorted(self.client.nthreads().items())}
            most = max(threads.values(), default=0)
            self._known_slots = [where for turn in range(most) for where, n in threads.items() if turn < n]
            self._slots_read_at = time.monotonic() if self._known_slots else float("-inf")
        return self._known_slots or [None]

    def _scatter(self, payload: Any) -> Any:
        """Return a future of the payload that the scheduler can recompute."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self.client.submit(_identity, payload, pure=False)

    def _submit(self, work: Callable[..., T], job_future: Any, slot: str | None, *numbers: int) -> Any:
        """Submit a job, preferably to the given worker: by default the scheduler would soon assign all jobs of a pass
        to the worker that holds the parameters."""
        if self._shards is None:
            self._shards = self._scatter(Shards(self.source, self.prepare))
        placement = {} if slot is None else {"workers": [slot], "allow_other_workers": True}
        return self.client.submit(work, self._shards, job_future, *numbers, pure=False, **placement)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert failures of the cluster to one-line errors."""
        from asyncio import CancelledError
        from concurrent.futures import CancelledError as FutureCancelled

        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        where = self.client.scheduler.addr if self.client.scheduler is not None else "its address"
        try:
            yield
        except KilledWorker as error:
            raise DataError(
                f"workers of the cluster at {where} died again and again on the same part ({first_line(error)[:120]}); "
                "do they have enough memory?"
            ) from None
        except (CommClosedError, CancelledError, FutureCancelled, OSError, TimeoutError) as error:
            is_local_file = isinstance(error, OSError) and not isinstance(error, CommClosedError)
            if is_local_file and self.client.status == "running":  # an error of a file, not of the network
                raise
            raise DataError(
                f"the Dask scheduler at {where} is gone ({first_line(error)[:80] or type(error).__name__}); start it "
                "again and run the same command"
            ) from None


def _identity(payload: T) -> T:
    return payload


def _run_part(shards: Shards[Any, W], job: Callable[[W], T], number: int) -> T:
    return shards.run(job, number)


def _run_parts(shards: Shards[Any, W], job_and_add: Any, lo: int, hi: int) -> list[Node[Any]]:
    job, add = job_and_add
    return shards.nodes(job, add, lo, hi)


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Return an executor for the cluster at a scheduler's address, or for N local processes ("local:N")."""
    try:
        dask, distributed = import_module("dask"), import_module("distributed")
    except ImportError:
        raise MissingDependencyError("a cluster needs Dask; install it with: pip install 'crowdwise[dask]'") from None
    with contextlib.ExitStack() as stack:
        # The death of a worker is an error only if many have died on the same part.
        timeouts = {
            "distributed.scheduler.allowed-failures": ALLOWED_FAILURES,
            "distributed.deploy.lost-worker-timeout": RETRY_SECONDS,
        }
        # The profiles that processes record of themselves are not used.
        settings = {"distributed.nanny.pre-spawn-environ": MALLOC, "distributed.worker.profile.enabled": False}
        stack.enter_context(dask.config.set(timeouts | settings))
        if address.partition(":")[0] == "local":
            # One thread per process, in the kernels too, to avoid contention.
            options: dict[str, Any] = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
            environment = {"CROWDWISE_THREADS": "1", "OMP_NUM_THREADS": "1"}
            cluster = distributed.LocalCluster(
                n_workers=_n_processes(address), silence_logs=50, env=environment, **options
            )
            stack.enter_context(cluster)
            stack.enter_context(_kept_alive(cluster, _n_processes(address)))
            # Local processes send their sums directly; on a remote cluster only the scheduler may be reachable.
            client_options = {"set_as_default": False, "direct_to_workers": True}
            client = stack.enter_context(distributed.Client(cluster, **client_options))
        else:
            try:
                client = stack.enter_context(distributed.Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False))
            except (OSError, ValueError) as error:
                raise DataError(
                    f"no Dask scheduler answers at {address} ({first_line(error)[:80]}); give its address "
                    "(tcp://HOST:8786), or local:2 for two processes of this machine"
                ) from None
        yield partial(Dask, client=client)


@contextmanager
def _kept_alive(cluster: Any, n: int) -> Iterator[None]:
    """Request the processes periodically, because a process that dies while it starts is not restarted by its nanny."""
    done = threading.Event()

    def scale() -> None:
        while not done.wait(RETRY_SECONDS):
            with contextlib.suppress(Exception):  # the cluster may be closing
                cluster.scale(n)

    thread = threading.Thread(target=scale, daemon=True, name="crowdwise-revive")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _n_processes(address: str) -> int:
    """Return the N of "local:N"; by default the number of cores."""
    from .kernels import n_threads

    _, _, number = address.partition(":")
    if not number:
        return n_threads()
    if not number.isdigit() or int(number) < 1:
        raise ParameterError(f"local:N takes a number of processes from 1 up, got {address!r}")
    return int(number)
