"""Search of tasks by words, and the events of a task."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from ..problems import Problem
from . import tables as t

# Most tasks that a search returns; more words find fewer.
MOST = 10_000
WORD = re.compile(r"\w+")
_FIND = {
    "sqlite": "SELECT rowid FROM task_words WHERE task_words MATCH :words ORDER BY rowid LIMIT :most",
    "postgresql": "SELECT code FROM task WHERE project = :project AND "
    "to_tsvector('simple', id || ' ' || payload) @@ to_tsquery('simple', :words) ORDER BY code LIMIT :most",
}


def tasks_with(connection: sa.Connection, project: str, text: str) -> tuple[npt.NDArray[np.int64], bool]:
    """The codes of tasks whose id or fields have all these words, the last one as the beginning of a word; and whether
    there are more than `MOST`."""
    words = WORD.findall(text)[:32]
    if not words:
        raise Problem(422, f"the search has no letters or digits: {text[:40]!r}")
    name = connection.dialect.name
    if name == "sqlite":
        query = " ".join(f'"{word}"' for word in words) + "*"
        given = {"words": query, "most": MOST + 1}
    else:
        given = {"words": " & ".join(words) + ":*", "most": MOST + 1, "project": project}
    codes = connection.execute(sa.text(_FIND[name]), given).scalars().all()
    return np.array(codes[:MOST], dtype=np.int64), len(codes) > MOST


def tasks_of(connection: sa.Connection, project: str, worker: int) -> npt.NDArray[np.int64]:
    """The codes of the tasks that a worker has answered."""
    e = t.event.c
    some = sa.select(e.task).where(e.project == project, e.worker == worker, e.kind == "label").distinct()
    return np.array(connection.execute(some).scalars().all(), dtype=np.int64)


def history_of(connection: sa.Connection, project: str, task: int) -> list[dict[str, Any]]:
    """The events of a task in their order, with codes of workers."""
    e = t.event.c
    rows = connection.execute(sa.select(t.event).where(e.project == project, e.task == task)).all()
    return [
        {"event": row.id, "kind": row.kind, "at": row.received_at, "worker": row.worker, **_shown(row.payload)}
        for row in sorted(rows, key=lambda row: row.id)
    ]


def _shown(payload: str) -> dict[str, Any]:
    """The fields of an event that the history shows."""
    fields = json.loads(payload)
    names = ("answer", "status", "by", "note", "accepted", "drawn", "excluded", "answers", "reason", "text")
    return {name: fields[name] for name in names if name in fields and fields[name] not in ("", None)}
