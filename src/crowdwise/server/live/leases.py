"""Leases: which task is in whose hands, until when. They are kept in a table of their own, not in the log."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from ...active.session import Session

# Ends that are kept beyond those of leases that run, before the list is made again.
_OLD = 1_024


@dataclass(slots=True)
class Lease:
    """A task in a worker's hands."""

    id: int
    task: int
    worker: int
    expires_at: float


class Leases:
    """At most one lease of a task and a worker; the session counts what is in hand."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.held: dict[tuple[int, int], Lease] = {}
        self._ends: list[tuple[float, int, int]] = []
        self.last = 0

    def put(self, lease: Lease, *, in_hand: bool = False) -> None:
        """Begin a lease, or prolong it; `in_hand`: the session knows already."""
        pair = (lease.task, lease.worker)
        if pair not in self.held and not in_hand:
            self.session.hold(lease.task, lease.worker)
        self.held[pair] = lease
        heapq.heappush(self._ends, (lease.expires_at, lease.task, lease.worker))
        if len(self._ends) > 2 * len(self.held) + _OLD:  # most were answered long before their time was over
            self._ends = [(lease.expires_at, lease.task, lease.worker) for lease in self.held.values()]
            heapq.heapify(self._ends)
        self.last = max(self.last, lease.id)

    def end(self, task: int, worker: int) -> bool:
        """The task leaves the worker's hands; whether it was there."""
        if self.held.pop((task, worker), None) is None:
            return False
        self.session.release(task, worker)
        return True

    def answered(self, task: int, worker: int) -> None:
        """The same where an answer follows, with which the session itself lets the task go."""
        self.held.pop((task, worker), None)

    def expire(self, now: float) -> int:
        """Tasks whose time is over return to the pool; how many."""
        n = 0
        while self._ends and self._ends[0][0] <= now:
            task, worker = heapq.heappop(self._ends)[1:]
            lease = self.held.get((task, worker))
            if lease is not None and lease.expires_at <= now:  # not prolonged meanwhile
                n += self.end(task, worker)
        return n

    def of(self, worker: int) -> list[Lease]:
        """What a worker has in hand, oldest first."""
        tasks = self.session.assigned.get(worker, [])
        return [self.held[task, worker] for task in tasks if (task, worker) in self.held]

    def others(self, task: int, worker: int) -> int:
        """How many others have the task in hand."""
        return int(self.session.task_index.busy[task]) - ((task, worker) in self.held)
