"""Leases: which task is assigned to which worker, and until when; in a table of their own, not in the log."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from ...active.session import Session

# Number of obsolete entries in the heap before it is rebuilt.
_OLD = 1_024


@dataclass(slots=True)
class Lease:
    """The assignment of a task to a worker until `expires_at`."""

    id: int
    task: int
    worker: int
    expires_at: float


class Leases:
    """At most one lease per task and worker; the session counts the assigned tasks."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.held: dict[tuple[int, int], Lease] = {}
        self._ends: list[tuple[float, int, int]] = []
        self.last = 0

    def put(self, lease: Lease, *, in_hand: bool = False) -> None:
        """Add or extend a lease; with `in_hand`, the session has assigned the task already."""
        pair = (lease.task, lease.worker)
        if pair not in self.held and not in_hand:
            self.session.hold(lease.task, lease.worker)
        self.held[pair] = lease
        heapq.heappush(self._ends, (lease.expires_at, lease.task, lease.worker))
        if len(self._ends) > 2 * len(self.held) + _OLD:  # most leases end by an answer, long before they expire
            self._ends = [(lease.expires_at, lease.task, lease.worker) for lease in self.held.values()]
            heapq.heapify(self._ends)
        self.last = max(self.last, lease.id)

    def end(self, task: int, worker: int) -> bool:
        """End a lease; return whether there was one."""
        if self.held.pop((task, worker), None) is None:
            return False
        self.session.release(task, worker)
        return True

    def answered(self, task: int, worker: int) -> None:
        """End a lease by an answer, by which the session itself releases the task."""
        self.held.pop((task, worker), None)

    def expire(self, now: float) -> int:
        """End expired leases; return their number."""
        n = 0
        while self._ends and self._ends[0][0] <= now:
            task, worker = heapq.heappop(self._ends)[1:]
            lease = self.held.get((task, worker))
            if lease is not None and lease.expires_at <= now:  # not extended meanwhile
                n += self.end(task, worker)
        return n

    def of(self, worker: int) -> list[Lease]:
        """The leases of a worker, oldest first."""
        tasks = self.session.assigned.get(worker, [])
        return [self.held[task, worker] for task in tasks if (task, worker) in self.held]

    def others(self, task: int, worker: int) -> int:
        """Number of other workers to whom the task is assigned."""
        return int(self.session.task_index.busy[task]) - ((task, worker) in self.held)
