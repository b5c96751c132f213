"""Write queue: the single writer. Waiting commands are committed together (group commit) and answered afterwards.

A command is a function of a `Batch`: it reads the live state, appends events and leases, and returns its response. The
response is sent only after the commit has succeeded. If a commit fails, all its commands are refused and the live
state is rebuilt from the log. If a command fails, it fails alone: the others are run again one at a time from the
state of the log.
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

from .batch import Batch
from .live.state import Live
from .problems import Problem
from .store.engine import Database, reason

# Commands stored together at most. Nobody waits for others to come: what queued up during a commit is the next batch.
MOST = 200
# How often a desk without work looks for other servers' events and for leases that are over.
IDLE = 0.25
# Faults of what a command wanted to store; all other faults of the database concern everybody.
OWN_FAULTS = (sa.exc.DataError, sa.exc.IntegrityError, sa.exc.ProgrammingError)
LOG = logging.getLogger("crowdwise.server")
# A function of a batch; where it has an attribute `key`, (worker, key), what that names is looked up with the others'.
# Where it has an attribute `quick` that is true, it takes no longer than an answer: others may wait for it.
Command = Callable[[Batch], Any]
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


class WriteQueue:
    """`load()` makes the live state from the database, at the start and after a fault."""

    def __init__(self, database: Database, load: Callable[[], Live], *, clock: Callable[[], float] = time.time) -> None:
        self.database, self._load, self.clock = database, load, clock
        self.live = load()
        self.sound = True
        self._queue: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self.after: list[Callable[[Batch], None]] = []  # told of every batch that was stored
        self.commits = self.commands = self.faults = self.failed = 0
        self._stored: list[tuple[Any, Any]] = []  # answers that may leave
        self._thread = threading.Thread(target=self._run, name="write-queue", daemon=True)
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
            entries = self._wait()
            if entries is None or not all(getattr(command, "quick", False) for command, _, _ in entries):
                self._hand_out()
            if entries is None:
                return
            batches, out = self._work(entries)
            for batch in batches:  # before the answers: who hears that a token is revoked must not find it still good
                self._report(batch)
            self._hand_out()
            self._stored = out

    def _report(self, batch: Batch) -> None:
        for tell in self.after:
            try:
                tell(batch)
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
        entries = []
        while first is not None:
            entries.append(first)
            if len(entries) == MOST or self._queue.empty():
                return entries
            first = self._queue.get()
        if entries:
            self._queue.put(None)
            return entries
        return None

    def _work(self, entries: list[Entry]) -> tuple[list[Batch], list[tuple[Any, Any]]]:
        self.commands += len(entries)
        try:
            if not self.sound:
                self.live = self._load()
                self.sound = True
            return self._batch(entries)
        except Exception as error:
            if _concerns_everybody(error):
                return [], self._refused(entries, error)
        return self._one_by_one(entries)

    def _one_by_one(self, entries: list[Entry]) -> tuple[list[Batch], list[tuple[Any, Any]]]:
        """The same, each command in a transaction of its own: the one that fails is the only one that fails."""
        batches: list[Batch] = []
        out: list[tuple[Any, Any]] = []
        as_stored = False  # whether the live state is that of the log
        for place, entry in enumerate(entries):
            try:
                if not as_stored:
                    self.live = self._load()
                    as_stored = True
            except Exception as error:
                return batches, out + self._refused(entries[place:], error)
            try:
                done, answers = self._batch([entry])
            except Exception as error:
                if _concerns_everybody(error):
                    return batches, out + self._refused(entries[place:], error)
                as_stored = False
                self.failed += 1
                out.append((entry[2], error))
            else:
                batches += done
                out += answers
        if not as_stored:
            try:
                self.live = self._load()
            except Exception:  # the next batch tries again
                self.sound = False
        return batches, out

    def _refused(self, entries: list[Entry], error: Exception) -> list[tuple[Any, Any]]:
        """Whatever it was, nobody is told that it was stored."""
        self.sound = False
        self.faults += 1
        return [(done, _refusal(error)) for _, _, done in entries]

    def _batch(self, entries: list[Entry]) -> tuple[list[Batch], list[tuple[Any, Any]]]:
        if not any(write for _, write, _ in entries):
            return self._read(entries)
        with self.database.writer.connect() as connection, connection.begin() as transaction:
            batch = Batch(self.live, self.database.project, connection, self.clock())
            batch.catch_up()
            keys = [key for command, _, _ in entries if (key := getattr(command, "key", None)) is not None]
            if keys:
                batch.foresee(keys)
            out = [(done, self._done(command, batch)) for command, _, done in entries]
            self._hand_out()
            batch.close()
            if batch.wrote:
                transaction.commit()
                self.commits += 1
            else:
                transaction.rollback()
        return [batch], out

    def _read(self, entries: list[Entry]) -> tuple[list[Batch], list[tuple[Any, Any]]]:
        """Commands that only look; where there are none, what other processes have entered is taken over."""
        if entries:
            batch = Batch(self.live, self.database.project, None, self.clock())
            return [], [(done, self._done(command, batch)) for command, _, done in entries]
        with self.database.reader.connect() as connection:
            batch = Batch(self.live, self.database.project, connection, self.clock())
            batch.catch_up()
        return [batch], []

    def _done(self, command: Command, batch: Batch) -> Any:
        """The answer of a command, or its refusal as a value. A command that failed before it changed anything has
        failed alone; one that changed something is raised, and the batch is done again."""
        batch.touched = False
        try:
            return command(batch)
        except Problem as problem:
            return problem
        except Exception as error:
            # A statement that failed has ended the transaction, too.
            if batch.touched or isinstance(error, sa.exc.SQLAlchemyError | OSError):
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
