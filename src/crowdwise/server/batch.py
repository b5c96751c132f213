"""Shift: one transaction of the desk. What commands enter is applied to the live state at once, stored at its end."""

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
from .store.log import Event, events

# Payloads of tasks that are kept in memory; a task never changes what it shows.
REMEMBERED = 4_096


class Batch:
    """`now` never runs backwards against the log, whatever the clock does."""

    def __init__(self, live: Live, project: str, connection: sa.Connection | None, now: float) -> None:
        self.live, self.project, self.connection = live, project, connection
        self.now = max(now, live.at)
        self.new: list[Event] = []  # of this shift, whoever entered them
        self._waiting: list[Event] = []
        self._leases: dict[tuple[int, int], Lease] = {}
        self._keys: dict[tuple[int, str], Event | None] = {}
        self.shows: list[Any] = []  # what has `codes`, and is given `texts` of what these tasks show at the end
        self.wrote = False
        self.touched = False  # whether the command that runs has changed the live state or the database
        live.leases.expire(self.now)

    # ---------------------------------------------------------------- entering
    def enter(self, kind: str, **given: Any) -> tuple[Event, Any]:
        """Append an event to the log and apply it; the event, and what came of it."""
        self.touched = True
        event = Event(self.live.last + 1, kind, self.now, **given)
        came = self.live.apply(event, None if self.connection is None else self.baseline)
        self.new.append(event)
        self._waiting.append(event)
        if event.key is not None:
            self._keys[event.worker or 0, event.key] = event
        if kind == "pause":
            self.end(event.worker or 0)
        return event, came

    def lease(self, task: int, worker: int, *, in_hand: bool = False) -> Lease:
        """Put a task into a worker's hands, or leave it there for longer."""
        self.touched = True
        leases = self.live.leases
        lease = Lease(leases.last + 1, task, worker, self.now + self.live.config.lease)
        leases.put(lease, in_hand=in_hand)
        self._leases[task, worker] = lease
        return lease

    def end(self, worker: int, task: int | None = None) -> None:
        """What this worker had in hand is so no more, also for who reads the table of leases later.

        Answered and skipped tasks need no word in the table: who reads it knows them from the log.
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
        return self.at_hand.execute(statement, rows) if rows is not None else self.at_hand.execute(statement)

    @property
    def at_hand(self) -> sa.Connection:
        """The connection of this shift."""
        if self.connection is None:
            raise RuntimeError("this command was not announced as one that writes")
        return self.connection

    def flush(self) -> None:
        """Write what has been entered so far."""
        if self._waiting:
            waiting, self._waiting, self.wrote = self._waiting, [], True
            quick.append(self.at_hand, self.project, waiting)
        if self._leases:
            leases, self._leases, self.wrote = self._leases, {}, True
            rows = [(self.project, lease.task, lease.worker, lease.id, lease.expires_at) for lease in leases.values()]
            quick.lease(self.at_hand, rows)

    def close(self) -> None:
        """Write everything, and look up what was to be shown."""
        self.flush()
        if self.shows:
            texts = self.texts([code for reply in self.shows for code in reply.codes])
            for reply in self.shows:
                reply.texts = [texts[code] for code in reply.codes]
            self.shows = []

    # ---------------------------------------------------------------- looking
    def catch_up(self) -> None:
        """Apply what other servers have entered since."""
        assert self.connection is not None
        live = self.live
        if not quick.news(self.connection, self.project, live.last, live.leases.last):
            return
        for event in events(self.connection, self.project, live.last):
            live.apply(event, self.baseline)
            self.new.append(event)
        more = sa.select(t.lease).where(t.lease.c.project == self.project, t.lease.c.id > live.leases.last)
        for row in self.connection.execute(more.order_by(t.lease.c.id)):
            self.hold_again(row)
        self.now = max(self.now, live.at)

    def hold_again(self, row: Any) -> None:
        """A lease of the table that may still run: unless it is over, answered or skipped."""
        live = self.live
        over = row.expires_at <= self.now or live.crowd.workers[row.worker].paused
        if (
            not over
            and not live.session.model.has(row.task, row.worker)
            and row.task not in live.session.skipped.get(row.worker, ())
        ):
            live.leases.put(Lease(row.id, row.task, row.worker, row.expires_at))
        live.leases.last = max(live.leases.last, row.id)

    def baseline(self, event: Event) -> Any:
        """What was settled at a rebase."""
        return load_baseline(self.query, self.project, event.id)

    def keyed(self, worker: int, key: str) -> Event | None:
        """The event that this worker's key names."""
        if (worker, key) not in self._keys:
            self.foresee([(worker, key)])
        return self._keys[worker, key]

    def foresee(self, pairs: list[tuple[int, str]]) -> None:
        """Look up the keys that commands of this shift will bring."""
        there = quick.keyed(self.at_hand, self.project, pairs)
        events = {(event.worker or 0, event.key or ""): event for event in there}
        for pair in pairs:
            self._keys.setdefault(pair, events.get(pair))

    def last_label(self, worker: int, task: int | None = None) -> Event | None:
        """This worker's last answer (to a task) that still stands."""
        self.flush()
        of = [t.current.c.project == self.project, t.current.c.worker == worker]
        if task is not None:
            of.append(t.current.c.task == task)
        row = self.query(sa.select(t.current).where(*of).order_by(t.current.c.id.desc()).limit(1)).first()
        if row is None:
            return None
        return Event(row.id, "label", row.received_at, row.task, row.worker, json.loads(row.payload))

    def was_given(self, task: int, worker: int) -> bool:
        """Whether this worker was ever given this task."""
        if (task, worker) in self.live.leases.held or self.live.session.model.has(task, worker):
            return True
        self.flush()
        of = (t.lease.c.project == self.project, t.lease.c.task == task, t.lease.c.worker == worker)
        return self.query(sa.select(t.lease.c.id).where(*of)).first() is not None

    def payloads(self, codes: list[int]) -> dict[int, Any]:
        """What tasks show."""
        return {code: json.loads(text) for code, text in self.texts(codes).items()}

    def texts(self, codes: list[int]) -> dict[int, str]:
        """The same as texts of JSON."""
        shown = self.live.shown
        missing = [code for code in codes if code not in shown]
        if missing:
            shown |= quick.shown(self.at_hand, self.project, missing)
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
        """The number of a task."""
        code = self.live.crowd.task_code.get(name)
        if code is None:
            raise Problem(404, f"there is no task {name[:80]!r}")
        return code

    def worker(self, name: str) -> int:
        """The number of a worker."""
        code = self.live.crowd.worker_code.get(name)
        if code is None:
            raise Problem(404, f"there is no worker {name[:80]!r}")
        return code

    def note(self, token: str | None, act: str, /, **detail: Any) -> None:
        """Write an admin's act into the audit log."""
        row = {"project": self.project, "at": self.now, "token": token, "act": act, "detail": dumps(detail)[:4_000]}
        self.execute(sa.insert(t.audit), row)
