"""Two engines per database: an exclusive writer of the log, and readers that do not wait for it."""

from __future__ import annotations

import logging
import zlib
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event as listen

from ...core.errors import CrowdwiseError, DataError, MissingDependencyError

MIGRATIONS = Path(__file__).parents[1] / "migrations"
# The schema revision of this version; Alembic is not loaded if the database has it already.
HEAD = "0002"
BUSY_MS = 5_000
# Settings of PostgreSQL without which a successful commit may not be on disk.
DURABLE = ("synchronous_commit", "fsync", "full_page_writes")
LOG = logging.getLogger("crowdwise.server")
# Cache of each connection (kB), and pages in the write-ahead log before a checkpoint.
PRAGMAS = ("cache_size=-16384", "wal_autocheckpoint=8192")


class Database:
    """A database: SQLite in a file, or PostgreSQL at a URL."""

    def __init__(self, url: str, project: str = "main") -> None:
        self.url, self.project = url, project
        self.sqlite = url.startswith("sqlite:")
        try:
            self.writer = self._engine(size=1)
            self.reader = self._engine(size=4)
        except ImportError as error:
            raise MissingDependencyError("PostgreSQL needs psycopg: pip install 'crowdwise[postgres]'") from error
        except sa.exc.ArgumentError as error:
            raise DataError(f"{url!r} is no address of a database; write postgresql://user@host/name") from error
        if self.sqlite:
            for engine, first in ((self.writer, "BEGIN IMMEDIATE"), (self.reader, "BEGIN")):
                _sqlite(engine, first)
        else:
            number = zlib.crc32(f"crowdwise {project}".encode())

            @listen.listens_for(self.writer, "begin")
            def _alone(connection: sa.Connection) -> None:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({number})")

    def _engine(self, size: int) -> sa.Engine:
        url = self.url.replace("postgresql://", "postgresql+psycopg://", 1)
        more: dict[str, Any] = {"pool_pre_ping": not self.sqlite, "pool_size": size, "max_overflow": 8}
        if self.sqlite:
            more |= {"connect_args": {"check_same_thread": False, "timeout": BUSY_MS / 1000}}
            more |= {"poolclass": sa.pool.QueuePool}
        return sa.create_engine(url, **more)

    def close(self) -> None:
        """Close all connections."""
        self.writer.dispose()
        self.reader.dispose()

    # ---------------------------------------------------------------- schema
    def migrate(self, to: str = "head") -> None:
        """Migrate the tables to this version of the library, or to another revision."""
        if to == "head" and self._at() == HEAD:
            return
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        try:
            with self.writer.begin() as connection:
                config.attributes["connection"] = connection
                up = to == "head" or (to != "base" and to > (self.version(connection) or ""))
                (command.upgrade if up else command.downgrade)(config, to)
        except sa.exc.SQLAlchemyError as error:
            raise DataError(f"the database cannot be brought up to date: {reason(error)}") from error
        except CrowdwiseError:
            raise
        except Exception as error:  # Alembic's own: a revision that this version does not know
            raise DataError(f"the database was written by a later version of crowdwise ({error})") from error

    def _at(self) -> str | None:
        """The recorded revision of the tables, or None."""
        try:
            with self.reader.connect() as connection:
                revisions = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all()
        except sa.exc.SQLAlchemyError:
            return None
        return str(revisions[0]) if len(revisions) == 1 else None

    @staticmethod
    def version(connection: sa.Connection) -> str | None:
        """The revision of the tables by Alembic."""
        from alembic.migration import MigrationContext

        return MigrationContext.configure(connection).get_current_revision()

    def check(self) -> None:
        """Refuse a broken database before anything is written to it."""
        if not self.sqlite:
            self._warn_of_weak_settings()
            return
        try:
            with self.reader.connect() as connection:
                result = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        except sa.exc.SQLAlchemyError as error:
            raise DataError(f"the database cannot be read: {reason(error)}; restore a backup") from error
        if result != "ok":
            raise DataError(f"the database is damaged ({result}); restore a backup")

    def _warn_of_weak_settings(self) -> None:
        """Warn if PostgreSQL acknowledges commits that a crash may lose."""
        with self.reader.connect() as connection:
            values = {name: str(connection.exec_driver_sql(f"SHOW {name}").scalar()) for name in DURABLE}
        weak = [f"{name} = {value}" for name, value in values.items() if value == "off"]
        if weak:
            LOG.warning("PostgreSQL has %s: an answer that was acknowledged may be lost in a crash", ", ".join(weak))


def reason(error: BaseException) -> str:
    """The error of a driver as one line."""
    return " ".join(str(getattr(error, "orig", None) or error).split())[:200]


def _sqlite(engine: sa.Engine, first: str) -> None:
    """Set write-ahead logging and full synchronisation, and begin transactions explicitly."""

    @listen.listens_for(engine, "connect")
    def _connected(raw: Any, _: Any) -> None:
        raw.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={BUSY_MS}", *PRAGMAS):
            raw.execute(f"PRAGMA {pragma}")

    @listen.listens_for(engine, "begin")
    def _begun(connection: sa.Connection) -> None:
        connection.exec_driver_sql(first)
