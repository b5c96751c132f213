"""Project: a folder with its database, write queue and refitter, as opened by `crowdwise serve`."""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ..core.errors import DataError
from .auth import Authenticator, issue
from .batch import WriteBatch
from .commands import manage
from .config import Config
from .live.answer_log import answers_at
from .live.baseline import load_baseline
from .live.replay import replay
from .live.snapshot import Mark, Unusable, discard, load, save, take
from .live.state import Live
from .problems import Problem
from .refitter import Refitter
from .serialization import dumps, name_of
from .store import tables as t
from .store.engine import Database, reason
from .store.folder import SNAPSHOTS, Folder
from .store.log import LogEvent, digest, events
from .write_queue import WriteQueue

LOG = logging.getLogger("crowdwise.server")


class Project:
    """An open project. With `serve`, this process holds the folder's lock and refits in the background; `database` is
    an open database of the project, whose compiled statements are reused."""

    def __init__(
        self,
        path: str | Path,
        *,
        serve: bool = False,
        clock: Callable[[], float] = time.time,
        database: Database | None = None,
    ) -> None:
        self.folder = Folder(path)
        self.name = self.folder.name
        self.database = database or Database(self.folder.url, self.name)
        self.clock, self.uid, self.snapshot_at = clock, "", 0
        if serve and self.database.sqlite:
            self.folder.lock()
        try:
            self.database.check()
            self.database.migrate()
            self.queue = WriteQueue(self.database, self._load, clock=clock)
        except sa.exc.SQLAlchemyError as error:
            self.folder.unlock()
            raise DataError(f"{self.folder.path}: the database does not answer: {reason(error)}") from error
        except BaseException:
            self.folder.unlock()
            raise
        self.authenticator = Authenticator(self.database.reader, self.name)
        self.queue.after.append(self._after_batch)
        self.refitter = Refitter(self) if serve else None

    def _load(self) -> Live:
        """The live state of the database."""
        with self.database.reader.connect() as connection:
            first = connection.execute(sa.select(t.project).where(t.project.c.id == self.name)).first()
            if first is None:
                raise DataError(f"{self.folder.path}: the database has no project {self.name!r}")
            self.uid = first.uid
            live = self._replayed(connection)
            batch = WriteBatch(live, self.name, connection, self.clock())
            mine = (t.lease.c.project == self.name, t.lease.c.expires_at > batch.now)
            for row in connection.execute(sa.select(t.lease).where(*mine).order_by(t.lease.c.id)):
                batch.restore_lease(row)
            most = sa.select(sa.func.max(t.lease.c.id)).where(t.lease.c.project == self.name)
            live.leases.last = connection.execute(most).scalar() or 0
            return live

    def _replayed(self, connection: sa.Connection) -> Live:
        """The state by the last snapshot and the rest of the log, or by the whole log if the snapshot is unusable."""
        read = connection.execute
        sources: dict[str, Any] = {
            "stored": lambda event: load_baseline(read, self.name, event.id),
            "answers": lambda event: answers_at(read, self.name, event),
        }
        folder, warning = self.folder.path / SNAPSHOTS, ""
        try:
            live = load(folder, self.uid, lambda number: digest(connection, self.name, number))
            if live is not None:
                self.snapshot_at = live.last
                return replay(events(connection, self.name, live.last), live.config, live=live, **sources)
        except Unusable as reason:
            warning = f"the snapshot is not used: {reason}; the log is replayed"
        except sa.exc.SQLAlchemyError:
            raise
        except Exception as error:  # such as a fit that began before the snapshot and was deleted
            warning = f"the snapshot does not match the log ({in_one_line(error)}); all of the log is replayed"
        self.snapshot_at = 0
        try:
            create = next(events(connection, self.name, until=1), None)
            if create is None:
                raise ValueError("event 1 is missing")
            live = replay(events(connection, self.name), Config.of(create.payload), **sources)
        except (sa.exc.SQLAlchemyError, MemoryError):
            raise
        except Exception as error:
            raise DataError(
                f"{self.folder.path}: the log cannot be replayed ({in_one_line(error)}); restore a backup"
            ) from error
        if warning:  # only here, because for a damaged log the error above is enough
            LOG.warning(warning)
            discard(folder)
        return live

    def snapshot(self) -> None:
        """Write a snapshot of the live state, so that the next start is fast."""
        arrays, last = self.queue.do(lambda batch: (take(batch.live), batch.live.last), write=False)
        with self.database.reader.connect() as connection:
            log = digest(connection, self.name, last)
        if log is None:
            return  # the log lacks events of the state; the next start replays the log
        save(arrays, Mark(self.uid, last, log), self.folder.path / SNAPSHOTS)
        self.snapshot_at = last

    def _after_batch(self, batch: WriteBatch) -> None:
        """Clear the cache of tokens if they have changed."""
        if any(event.kind == "auth" for event in batch.new):
            self.authenticator.forget()

    def close(self) -> None:
        """Close the queue and the database, and release the lock."""
        if self.refitter is not None:
            self.refitter.close()
            if self.queue.sound and self.queue.live.last > self.snapshot_at:
                # A snapshot is optional.
                with contextlib.suppress(OSError, Problem, sa.exc.SQLAlchemyError):
                    self.snapshot()
        self.queue.close()
        self.database.close()
        self.folder.unlock()

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def create(path: str | Path, config: Config, *, name: str = "main", database: str | None = None) -> str:
    """Create a project in a new folder; return the admin's token, which is not stored."""
    try:
        name_of(name, "the name of the project")
    except Problem as problem:
        raise DataError(problem.detail) from problem
    if database is not None and not database.startswith("postgresql://"):
        raise DataError(f"{database!r} is no address of PostgreSQL; write postgresql://user@host/name")
    config.refuse_unused()
    folder = Folder.create(path, name, database)
    base = Database(folder.url, name)
    base.migrate()
    now = time.time()
    with base.writer.begin() as connection:
        if connection.execute(sa.select(t.project).where(t.project.c.id == name)).first() is not None:
            raise DataError(f"the database has a project {name!r} already; choose another --name")
        row = {"id": name, "uid": secrets.token_hex(16), "config": dumps(config.to_dict()), "created_at": now}
        connection.execute(sa.insert(t.project), row)
        first = LogEvent(1, "create", now, payload=config.to_dict())
        connection.execute(sa.insert(t.event), first.row(name))
    base.close()
    with Project(path) as project:
        secret: str = project.queue.do(lambda batch: issue(batch, "admin", note="made with the project"))[1]
    return secret


def load_tasks(project: Project, tasks: list[dict[str, Any]], by: str | None = None) -> dict[str, int]:
    """Add tasks in parts, so that other commands are not blocked; return the numbers of added and existing tasks."""
    total = {"added": 0, "there": 0}
    for at in range(0, len(tasks), 1_000):
        added = project.queue.do(partial(manage.add_tasks, given=tasks[at : at + 1_000], by=by))
        total = {name: total[name] + added[name] for name in total}
    return total


def in_one_line(error: Exception) -> str:
    """An error as one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
