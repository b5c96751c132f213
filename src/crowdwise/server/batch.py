"""WriteBatch: a transaction of the write queue. Events are applied to the live state at once and stored at its end."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from .live.baseline import load_baseline
from .live.leases import Lease
from .live.state import Live
from .problems import Problem
from .serialization import dumps
from .store import quick
from .store import tables as t
from .store.log import LogEvent, events

# Number of payloads of tasks kept in memory; the payload of a task never changes.
REMEMBERED = 4_096


class WriteBatch:
    """The commands of one transaction. `now` never lies before the last event of the log, whatever the clock."""

    def __init__(self, live: Live, project: str, connection: sa.Connection | None, now: float) -> None:
        self.live, self.project, self.connection = live, project, connection
        self.now = max(now, live.at)
        self.new: list[LogEvent] = []  # all events of this batch, those of other servers too
        self._waiting: list[LogEvent] = []
        self._leases: dict[tuple[int, int], Lease] = {}
        self._keys: dict[tuple[int, str], LogEvent | None] = {}
        self.shows: list[Any] = []  # responses with `codes` of tasks, which get their `texts` at the end
        self.wrote = False
        self.touched = False  # whether the current command has changed the live state or the database
        live.leases.expire(self.now)

    # ---------------------------------------------------------------- writing
    def enter(self, kind: str, **given: Any) -> tuple[LogEvent, Any]:
        """Append an event to the log and apply it; return the event and the result of applying it."""
        self.touched = True
        event = LogEvent(self.live.last + 1, kind, self.now, **given)
        result = self.live.apply(event, None if self.connection is None else self.baseline)
        self.new.append(event)
        self._waiting.append(event)
        if event.key is not None:
            self._keys[event.worker or 0, event.key] = event
        if kind == "pause":
            self.end(event.worker or 0)
        return event, result

    def lease(self, task: int, worker: int, *, in_hand: bool = False) -> Lease:
        """Assign a task to a worker, or extend the lease."""
        self.touched = True
        leases = self.live.leases
        lease = Lease(leases.last + 1, task, worker, self.now + self.live.config.lease)
        leases.put(lease, in_hand=in_hand)
        self._leases[task, worker] = lease
        return lease

    def end(self, worker: int, task: int | None = None) -> None:
        """End the leases of this worker (of a task) in the table.

        Leases of answered and skipped tasks stay in the table, because the log shows that they have ended.
        """
        self.flush()
        mine = [t.lease.c.project == self.project, t.lease.c.worker == worker, t.lease.c.expires_at > self.now]
        if task is not None:
            mine.append(t.lease.c.task == task)
        self.execute(sa.update(t.lease).where(*mine).values(expires_at=self.now))

    def execute(self, statement: Any, rows: Any = None) -> Any:
        """Run a statement that writes."""
        self.wrote = self.touched = True
        return self.query(statement, rows)

    def query(self, statement: Any, rows: Any = None) -> Any:
        """Run a statement."""
        return (
            self.open_connection.execute(statement, rows)
            if rows is not None
            else self.open_connection.execute(statement)
        )

    @property
    def open_connection(self) -> sa.Connection:
        """The connection of this batch."""
        if self.connection is None:
            raise RuntimeError("the command was queued with write=False")
        return self.connection

    def flush(self) -> None:
        """Write the events and leases so far to the database."""
        if self._waiting:
            waiting, self._waiting, self.wrote = self._waiting, [], True
            quick.append(self.open_connection, self.project, waiting)
        if self._leases:
            leases, self._leases, self.wrote = self._leases, {}, True
            rows = [(self.project, lease.task, lease.worker, lease.id, lease.expires_at) for lease in leases.values()]
            quick.lease(self.open_connection, rows)

    def close(self) -> None:
        """Write everything, and look up the payloads that responses need."""
        self.flush()
        if self.shows:
            texts = self.texts([code for reply in self.shows for code in reply.codes])
            for reply in self.shows:
                reply.texts = [texts[code] for code in reply.codes]
            self.shows = []

    # ---------------------------------------------------------------- reading
    def catch_up(self) -> None:
        """Apply the events and leases that other servers have stored since."""
        assert self.connection is not None
        live = self.live
        if not quick.news(self.connection, self.project, live.last, live.leases.last):
            return
        for event in events(self.connection, self.project, live.last):
            live.apply(event, self.baseline)
            self.new.append(event)
        more = sa.select(t.lease).where(t.lease.c.project == self.project, t.lease.c.id > live.leases.last)
        for row in self.connection.execute(more.order_by(t.lease.c.id)):
            self.restore_lease(row)
        self.now = max(self.now, live.at)

    def restore_lease(self, row: Any) -> None:
        """Add a lease of the table unless it has expired or its task was answered or skipped."""
        live = self.live
        ended = row.expires_at <= self.now or live.crowd.workers[row.worker].paused
        if (
            not ended
            and not live.session.model.has(row.task, row.worker)
            and row.task not in live.session.skipped.get(row.worker, ())
        ):
            live.leases.put(Lease(row.id, row.task, row.worker, row.expires_at))
        live.leases.last = max(live.leases.last, row.id)

    def baseline(self, event: LogEvent) -> Any:
        """The fitted arrays of a rebase event."""
        return load_baseline(self.query, self.project, event.id)

    def keyed(self, worker: int, key: str) -> LogEvent | None:
        """The event with this idempotency key of the worker, if there is one."""
        if (worker, key) not in self._keys:
            self.look_up_keys([(worker, key)])
        return self._keys[worker, key]

    def look_up_keys(self, pairs: list[tuple[int, str]]) -> None:
        """Look up the idempotency keys of the commands of this batch in one query."""
        there = quick.keyed(self.open_connection, self.project, pairs)
        events = {(event.worker or 0, event.key or ""): event for event in there}
        for pair in pairs:
            self._keys.setdefault(pair, events.get(pair))

    def last_label(self, worker: int, task: int | None = None) -> LogEvent | None:
        """This worker's last current answer (to a task)."""
        self.flush()
        of = [t.current.c.project == self.project, t.current.c.worker == worker]
        if task is not None:
            of.append(t.current.c.task == task)
        row = self.query(sa.select(t.current).where(*of).order_by(t.current.c.id.desc()).limit(1)).first()
        if row is None:
            return None
        return LogEvent(row.id, "label", row.received_at, row.task, row.worker, json.loads(row.payload))

    def was_given(self, task: int, worker: int) -> bool:
        """Whether this task was ever assigned to this worker."""
        if (task, worker) in self.live.leases.held or self.live.session.model.has(task, worker):
            return True
        self.flush()
        of = (t.lease.c.project == self.project, t.lease.c.task == task, t.lease.c.worker == worker)
        return self.query(sa.select(t.lease.c.id).where(*of)).first() is not None

    def payloads(self, codes: list[int]) -> dict[int, Any]:
        """The payloads of tasks."""
        return {code: json.loads(text) for code, text in self.texts(codes).items()}

    def texts(self, codes: list[int]) -> dict[int, str]:
        """The payloads of tasks as JSON texts."""
        shown = self.live.shown
        missing = [code for code in codes if code not in shown]
        if missing:
            shown |= quick.shown(self.open_connection, self.project, missing)
        texts = {code: shown[code] for code in codes}
        while len(shown) > REMEMBERED:
            del shown[next(iter(shown))]
        return texts

    def answers(self, until: int) -> list[Any]:
        """(task, worker, answer, payload of the task) of all answers that counted at an event."""
        from .live.answer_log import answers_at

        self.flush()
        return answers_at(self.query, self.project, until)

    def task(self, name: str) -> int:
        """The code of a task."""
        code = self.live.crowd.task_code.get(name)
        if code is None:
            raise Problem(404, f"there is no task {name[:80]!r}")
        return code

    def worker(self, name: str) -> int:
        """The code of a worker."""
        code = self.live.crowd.worker_code.get(name)
        if code is None:
            raise Problem(404, f"there is no worker {name[:80]!r}")
        return code

    def note(self, token: str | None, act: str, /, **detail: Any) -> None:
        """Write an action of an admin to the audit log."""
        row = {"project": self.project, "at": self.now, "token": token, "act": act, "detail": dumps(detail)[:4_000]}
        self.execute(sa.insert(t.audit), row)
