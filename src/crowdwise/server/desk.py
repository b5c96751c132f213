"""Desk: the one writer. Commands queue up; those that wait together are stored together, and answered after that.

A command is a function of a `Shift`: it looks at the live state, enters events and leases, and returns its answer. The
answer leaves the desk only when the commit has come back. Where a commit fails, everybody gets a refusal, and the
live state is made again from the log. Where a command itself fails, it fails alone: the batch is done again, one
command at a time, from the state of the log.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

import sqlalchemy as sa

from .live.state import Live
from .problems import Problem
from .shift import Shift
from .store.engine import Database, reason

# Commands stored together at most. Nobody waits for others to come: what queued up during a commit is the next batch.
MOST = 200
# How often a desk without work looks for other servers' events and for leases that are over.
IDLE = 0.25
# Faults of what a command wanted to store; all other faults of the database concern everybody.
OWN_FAULTS = (sa.exc.DataError, sa.exc.IntegrityError, sa.exc.ProgrammingError)
LOG = logging.getLogger("crowdwise.server")
# A function of a shift; where it has an attribute `key`, (worker, key), what that names is looked up with the others'.
# Where it has an attribute `quick` that is true, it takes no longer than an answer: others may wait for it.
Command = Callable[[Shift], Any]
# A command, whether it writes, and what hears how it ended.
Entry = tuple[Command, bool, Any]


class Reply(Protocol):
    """What hears how a command ended: a future of an event loop, or what behaves as one."""

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Where it is told."""

    def done(self) -> bool:
        """Whether nobody waits any more."""

    def set_result(self, result: Any, /) -> None:
        """It was done."""

    def set_exception(self, exception: BaseException, /) -> None:
        """It was not."""


class Desk:
    """`load()` makes the live state from the database, at the start and after a fault."""

    def __init__(self, database: Database, load: Callable[[], Live], *, clock: Callable[[], float] = time.time) -> None:
        self.database, self._load, self.clock = database, load, clock
        self.live = load()
        self.sound = True
        self._queue: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self.after: list[Callable[[Shift], None]] = []  # told of every batch that was stored
        self.commits = self.commands = self.faults = self.failed = 0
        self._stored: list[tuple[Any, Any]] = []  # answers that may leave
        self._thread = threading.Thread(target=self._run, name="desk", daemon=True)
        self._thread.start()

    # ---------------------------------------------------------------- the counter
    def do(self, command: Command, *, write: bool = True, timeout: float | None = 60) -> Any:
        """Have a command done and wait for it; for threads."""
        done: Future[Any] = Future()
        self._queue.put((command, write, done))
        return done.result(timeout)

    async def ask(self, command: Command, *, write: bool = True) -> Any:
        """The same for the event loop."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.send(command, done, write=write)
        return await done

    def send(self, command: Command, reply: Reply, *, write: bool = True) -> None:
        """The same for who does not wait: `reply` hears of it in its own loop."""
        self._queue.put((command, write, reply))

    def close(self) -> None:
        """Finish what has queued up and stop."""
        self._queue.put(None)
        self._thread.join(timeout=30)

    # ---------------------------------------------------------------- the thread
    def _run(self) -> None:
        while True:
            if self._queue.empty():
                self._hand_out()
            batch = self._wait()
            if batch is None or not all(getattr(command, "quick", False) for command, _, _ in batch):
                self._hand_out()
            if batch is None:
                return
            shifts, out = self._work(batch)
            for shift in shifts:  # before the answers: who hears that a token is revoked must not find it still good
                self._report(shift)
            self._hand_out()
            self._stored = out

    def _report(self, shift: Shift) -> None:
        for tell in self.after:
            try:
                tell(shift)
            except Exception:  # it is stored; whoever listens must not stop the writer
                LOG.exception("a listener failed after a batch was stored")

    def _hand_out(self) -> None:
        """Let answers go whose events are stored. Where quick commands wait, these are done first: Python runs one
        thread at a time, and while the database then stores what they entered, the loop has it to itself."""
        stored, self._stored = self._stored, []
        _deliver(stored)

    def _wait(self) -> list[Entry] | None:
        """Everything that waits; an empty list when nothing came for a while."""
        try:
            first = self._queue.get(timeout=IDLE)
        except queue.Empty:
            return []
        batch = []
        while first is not None:
            batch.append(first)
            if len(batch) == MOST or self._queue.empty():
                return batch
            first = self._queue.get()
        if batch:
            self._queue.put(None)
            return batch
        return None

    def _work(self, batch: list[Entry]) -> tuple[list[Shift], list[tuple[Any, Any]]]:
        self.commands += len(batch)
        try:
            if not self.sound:
                self.live = self._load()
                self.sound = True
            return self._batch(batch)
        except Exception as error:
            if _concerns_everybody(error):
                return [], self._refused(batch, error)
        return self._one_by_one(batch)

    def _one_by_one(self, batch: list[Entry]) -> tuple[list[Shift], list[tuple[Any, Any]]]:
        """The same, each command in a transaction of its own: the one that fails is the only one that fails."""
        shifts: list[Shift] = []
        out: list[tuple[Any, Any]] = []
        as_stored = False  # whether the live state is that of the log
        for place, entry in enumerate(batch):
            try:
                if not as_stored:
                    self.live = self._load()
                    as_stored = True
            except Exception as error:
                return shifts, out + self._refused(batch[place:], error)
            try:
                done, answers = self._batch([entry])
            except Exception as error:
                if _concerns_everybody(error):
                    return shifts, out + self._refused(batch[place:], error)
                as_stored = False
                self.failed += 1
                out.append((entry[2], error))
            else:
                shifts += done
                out += answers
        if not as_stored:
            try:
                self.live = self._load()
            except Exception:  # the next batch tries again
                self.sound = False
        return shifts, out

    def _refused(self, batch: list[Entry], error: Exception) -> list[tuple[Any, Any]]:
        """Whatever it was, nobody is told that it was stored."""
        self.sound = False
        self.faults += 1
        return [(done, _refusal(error)) for _, _, done in batch]

    def _batch(self, batch: list[Entry]) -> tuple[list[Shift], list[tuple[Any, Any]]]:
        if not any(write for _, write, _ in batch):
            return self._read(batch)
        with self.database.writer.connect() as connection, connection.begin() as transaction:
            shift = Shift(self.live, self.database.project, connection, self.clock())
            shift.catch_up()
            keys = [key for command, _, _ in batch if (key := getattr(command, "key", None)) is not None]
            if keys:
                shift.foresee(keys)
            out = [(done, self._done(command, shift)) for command, _, done in batch]
            self._hand_out()
            shift.close()
            if shift.wrote:
                transaction.commit()
                self.commits += 1
            else:
                transaction.rollback()
        return [shift], out

    def _read(self, batch: list[Entry]) -> tuple[list[Shift], list[tuple[Any, Any]]]:
        """Commands that only look; where there are none, what other processes have entered is taken over."""
        if batch:
            shift = Shift(self.live, self.database.project, None, self.clock())
            return [], [(done, self._done(command, shift)) for command, _, done in batch]
        with self.database.reader.connect() as connection:
            shift = Shift(self.live, self.database.project, connection, self.clock())
            shift.catch_up()
        return [shift], []

    def _done(self, command: Command, shift: Shift) -> Any:
        """The answer of a command, or its refusal as a value. A command that failed before it changed anything has
        failed alone; one that changed something is raised, and the batch is done again."""
        shift.touched = False
        try:
            return command(shift)
        except Problem as problem:
            return problem
        except Exception as error:
            # A statement that failed has ended the transaction, too.
            if shift.touched or isinstance(error, sa.exc.SQLAlchemyError | OSError):
                raise
            self.failed += 1
            return error


def _concerns_everybody(error: Exception) -> bool:
    """Whether the database is at fault, not the command."""
    return isinstance(error, sa.exc.SQLAlchemyError | OSError) and not isinstance(error, OWN_FAULTS)


def _refusal(error: Exception) -> Exception:
    if isinstance(error, sa.exc.SQLAlchemyError | OSError):
        return Problem(503, f"nothing was stored ({reason(error)}); try again", retry_after=1)
    return error


def _deliver(out: list[tuple[Any, Any]]) -> None:
    """Hand out the answers, with one call a loop."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Any, Any]]] = {}
    for done, answer in out:
        if isinstance(done, Future):
            _settle(done, answer)
        else:
            loops.setdefault(done.get_loop(), []).append((done, answer))
    for loop, some in loops.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_all, some)


def _all(some: list[tuple[Any, Any]]) -> None:
    for done, answer in some:
        if not done.done():
            _settle(done, answer)


def _settle(done: Any, answer: Any) -> None:
    if isinstance(answer, BaseException):
        done.set_exception(answer)
    else:
        done.set_result(answer)
