"""The frequent database operations, for a whole batch at once and without SQLAlchemy's expression language.

A statement releases the interpreter lock while it runs, so that the event loop continues. With many small statements,
the two threads would wait for each other at each of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import sqlalchemy as sa

from .log import COLUMNS, LogEvent

# Rows per statement of SQLite: a few sizes, so that each statement is composed and prepared once.
SIZES = (64, 16, 4, 1)
LEASE = ("project", "task", "worker", "id", "expires_at")
RENEW = " ON CONFLICT (project, task, worker) DO UPDATE SET id = excluded.id, expires_at = excluded.expires_at"

_NEWS = (
    "SELECT EXISTS (SELECT 1 FROM event WHERE project = ? AND id > ?) OR "
    "EXISTS (SELECT 1 FROM lease WHERE project = ? AND id > ?)"
)
_KEYED = {
    "sqlite": "SELECT e.* FROM json_each(?) AS k CROSS JOIN event AS e ON e.project = ? AND "
    "e.worker = json_extract(k.value, '$[0]') AND e.idempotency_key = json_extract(k.value, '$[1]')",
    "postgresql": "SELECT e.* FROM json_array_elements(%s::json) AS k JOIN event AS e ON e.project = %s AND "
    "e.worker = (k->>0)::bigint AND e.idempotency_key = k->>1",
}
_SHOWN = {
    "sqlite": "SELECT json_group_array(json_array(code, payload)) FROM json_each(?) AS k CROSS JOIN task "
    "ON project = ? AND code = k.value",
    "postgresql": "SELECT coalesce(json_agg(json_build_array(code, payload)), '[]')::text FROM "
    "json_array_elements_text(%s::json) AS k JOIN task ON project = %s AND code = k::bigint",
}


def append(connection: sa.Connection, project: str, events: Iterable[LogEvent]) -> None:
    """Append events to the log."""
    _insert(connection, "event", COLUMNS, [event.values(project) for event in events])


def lease(connection: sa.Connection, rows: list[tuple[Any, ...]]) -> None:
    """Write new and extended leases: (project, task, worker, id, expires_at)."""
    _insert(connection, "lease", LEASE, rows, RENEW)


def _insert(
    connection: sa.Connection, table: str, columns: Sequence[str], rows: list[tuple[Any, ...]], more: str = ""
) -> None:
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(_statement(table, tuple(columns), "%s", 1, more), rows)
        return
    at = 0
    for size in SIZES:
        while len(rows) - at >= size:
            given = tuple(chain.from_iterable(rows[at : at + size]))
            connection.exec_driver_sql(_statement(table, tuple(columns), "?", size, more), given)
            at += size


@lru_cache(maxsize=64)
def _statement(table: str, columns: tuple[str, ...], mark: str, n: int, more: str) -> str:
    one = f"({', '.join([mark] * len(columns))})"
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([one] * n)}{more}"


def news(connection: sa.Connection, project: str, event: int, lease: int) -> bool:
    """Whether another server has stored events or leases after these."""
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    row = connection.exec_driver_sql(_NEWS.replace("?", mark), (project, event, project, lease))
    return bool(row.scalar())


def keyed(connection: sa.Connection, project: str, pairs: Sequence[tuple[int, str]]) -> list[LogEvent]:
    """The events with these idempotency keys of these workers."""
    rows = connection.exec_driver_sql(_KEYED[connection.dialect.name], (json.dumps(pairs), project))
    return [LogEvent.of(row) for row in rows]


def shown(connection: sa.Connection, project: str, codes: Sequence[int]) -> dict[int, str]:
    """The payloads of tasks as JSON texts."""
    payloads = connection.exec_driver_sql(_SHOWN[connection.dialect.name], (json.dumps(codes), project)).scalar()
    return dict(json.loads(payloads or "[]"))
