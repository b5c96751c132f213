"""Write queue: the single writer. Waiting commands are committed together (group commit) and answered afterwards.

A command is a function of a `WriteBatch`: it reads the live state, appends events and leases, and returns its response,
which is sent only after the commit has succeeded. If a commit fails, all its commands are refused and the live
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

from .batch import WriteBatch
from .live.state import Live
from .problems import Problem
from .store.engine import Database, reason

# Largest number of commands per commit. The commands that arrive during a commit are the next batch.
MAX_BATCH = 200
# Seconds after which an idle queue looks for events of other servers and for expired leases.
IDLE = 0.25
# Database errors that are caused by the data of a single command; all others concern the whole batch.
COMMAND_FAULTS = (sa.exc.DataError, sa.exc.IntegrityError, sa.exc.ProgrammingError)
LOG = logging.getLogger("crowdwise.server")
# A function of a batch. Optional attributes: `key`, a pair (worker, idempotency key) that is looked up together with
# those of the other commands; `quick`, true if the command takes no longer than storing an answer.
Command = Callable[[WriteBatch], Any]
# A command, whether it writes, and the future of its response.
Entry = tuple[Command, bool, Any]


class CommandFuture(Protocol):
    """The future of a response: an asyncio.Future, or an object with the same methods."""

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The event loop in which the result is set."""

    def done(self) -> bool:
        """Whether the future has a result or was cancelled."""

    def set_result(self, result: Any, /) -> None:
        """Set the response."""

    def set_exception(self, exception: BaseException, /) -> None:
        """Set the error."""


class WriteQueue:
    """The queue and its thread. `load()` builds the live state from the database, at the start and after a fault."""

    def __init__(self, database: Database, load: Callable[[], Live], *, clock: Callable[[], float] = time.time) -> None:
        self.database, self._load, self.clock = database, load, clock
        self.live = load()
        self.sound = True
        self._queue: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self.after: list[Callable[[WriteBatch], None]] = []  # listeners, called after every commit
        self.commits = self.commands = self.faults = self.failed = 0
        self._stored: list[tuple[Any, Any]] = []  # responses that may be sent
        self._thread = threading.Thread(target=self._run, name="write-queue", daemon=True)
        self._thread.start()

    # ---------------------------------------------------------------- for callers
    def do(self, command: Command, *, write: bool = True, timeout: float | None = 60) -> Any:
        """Queue a command and wait for its response; for threads."""
        done: Future[Any] = Future()
        self._queue.put((command, write, done))
        return done.result(timeout)

    async def ask(self, command: Command, *, write: bool = True) -> Any:
        """Queue a command and wait for its response; for the event loop."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.send(command, done, write=write)
        return await done

    def send(self, command: Command, reply: CommandFuture, *, write: bool = True) -> None:
        """Queue a command without waiting; the response is set in `reply`, in its own loop."""
        self._queue.put((command, write, reply))

    def close(self) -> None:
        """Execute the queued commands and stop."""
        self._queue.put(None)
        self._thread.join(timeout=30)

    # ---------------------------------------------------------------- the thread
    def _run(self) -> None:
        while True:
            if self._queue.empty():
                self._send_stored()
            entries = self._wait()
            if entries is None or not all(getattr(command, "quick", False) for command, _, _ in entries):
                self._send_stored()
            if entries is None:
                return
            batches, out = self._work(entries)
            for (
                batch
            ) in batches:  # before the responses, so that a token is invalid once its revocation is acknowledged
                self._call_listeners(batch)
            self._send_stored()
            self._stored = out

    def _call_listeners(self, batch: WriteBatch) -> None:
        for listener in self.after:
            try:
                listener(batch)
            except Exception:  # the batch is stored; a faulty listener must not stop the writer
                LOG.exception("a listener failed after a batch was stored")

    def _send_stored(self) -> None:
        """Send the responses whose events are stored. Waiting quick commands are executed first: Python runs one thread
        at a time, and the event loop can send while the database stores the events of these commands."""
        stored, self._stored = self._stored, []
        _deliver(stored)

    def _wait(self) -> list[Entry] | None:
        """All waiting commands; an empty list after a timeout, None at the end."""
        try:
            first = self._queue.get(timeout=IDLE)
        except queue.Empty:
            return []
        entries = []
        while first is not None:
            entries.append(first)
            if len(entries) == MAX_BATCH or self._queue.empty():
                return entries
            first = self._queue.get()
        if entries:
            self._queue.put(None)
            return entries
        return None

    def _work(self, entries: list[Entry]) -> tuple[list[WriteBatch], list[tuple[Any, Any]]]:
        self.commands += len(entries)
        try:
            if not self.sound:
                self.live = self._load()
                self.sound = True
            return self._batch(entries)
        except Exception as error:
            if _concerns_all(error):
                return [], self._refuse_all(entries, error)
        return self._one_by_one(entries)

    def _one_by_one(self, entries: list[Entry]) -> tuple[list[WriteBatch], list[tuple[Any, Any]]]:
        """Execute each command in its own transaction, so that a failing command does not affect the others."""
        batches: list[WriteBatch] = []
        out: list[tuple[Any, Any]] = []
        as_stored = False  # whether the live state agrees with the log
        for place, entry in enumerate(entries):
            try:
                if not as_stored:
                    self.live = self._load()
                    as_stored = True
            except Exception as error:
                return batches, out + self._refuse_all(entries[place:], error)
            try:
                done, answers = self._batch([entry])
            except Exception as error:
                if _concerns_all(error):
                    return batches, out + self._refuse_all(entries[place:], error)
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

    def _refuse_all(self, entries: list[Entry], error: Exception) -> list[tuple[Any, Any]]:
        """Refuse all commands, because none of them is stored."""
        self.sound = False
        self.faults += 1
        return [(done, _refusal(error)) for _, _, done in entries]

    def _batch(self, entries: list[Entry]) -> tuple[list[WriteBatch], list[tuple[Any, Any]]]:
        if not any(write for _, write, _ in entries):
            return self._read(entries)
        with self.database.writer.connect() as connection, connection.begin() as transaction:
            batch = WriteBatch(self.live, self.database.project, connection, self.clock())
            batch.catch_up()
            keys = [key for command, _, _ in entries if (key := getattr(command, "key", None)) is not None]
            if keys:
                batch.look_up_keys(keys)
            out = [(done, self._execute(command, batch)) for command, _, done in entries]
            self._send_stored()
            batch.close()
            if batch.wrote:
                transaction.commit()
                self.commits += 1
            else:
                transaction.rollback()
        return [batch], out

    def _read(self, entries: list[Entry]) -> tuple[list[WriteBatch], list[tuple[Any, Any]]]:
        """Execute commands that only read; without any, apply the events of other processes."""
        if entries:
            batch = WriteBatch(self.live, self.database.project, None, self.clock())
            return [], [(done, self._execute(command, batch)) for command, _, done in entries]
        with self.database.reader.connect() as connection:
            batch = WriteBatch(self.live, self.database.project, connection, self.clock())
            batch.catch_up()
        return [batch], []

    def _execute(self, command: Command, batch: WriteBatch) -> Any:
        """The response of a command, or its error as a value if it failed before it changed anything. Other errors are
        raised, and the batch is executed again."""
        batch.touched = False
        try:
            return command(batch)
        except Problem as problem:
            return problem
        except Exception as error:
            # A failed statement has also ended the transaction.
            if batch.touched or isinstance(error, sa.exc.SQLAlchemyError | OSError):
                raise
            self.failed += 1
            return error


def _concerns_all(error: Exception) -> bool:
    """Whether the database failed, rather than the command."""
    return isinstance(error, sa.exc.SQLAlchemyError | OSError) and not isinstance(error, COMMAND_FAULTS)


def _refusal(error: Exception) -> Exception:
    if isinstance(error, sa.exc.SQLAlchemyError | OSError):
        return Problem(503, f"nothing was stored ({reason(error)}); try again", retry_after=1)
    return error


def _deliver(out: list[tuple[Any, Any]]) -> None:
    """Set the responses, with one call per event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Any, Any]]] = {}
    for done, answer in out:
        if isinstance(done, Future):
            _set_response(done, answer)
        else:
            loops.setdefault(done.get_loop(), []).append((done, answer))
    for loop, some in loops.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_set_responses, some)


def _set_responses(some: list[tuple[Any, Any]]) -> None:
    for done, answer in some:
        if not done.done():
            _set_response(done, answer)


def _set_response(done: Any, answer: Any) -> None:
    if isinstance(answer, BaseException):
        done.set_exception(answer)
    else:
        done.set_result(answer)
