"""The answers that stood at one event of the log, with the names of who and what."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ..store import tables as t


def answers_at(query: Callable[..., Any], project: str, until: int | None = None) -> list[Any]:
    """(task, worker, answer, payload of the task), by task and worker; what did not count is left out."""
    e, later = t.event.alias("e"), t.event.alias("later")
    gone = [later.c.project == e.c.project, later.c.task == e.c.task, later.c.worker == e.c.worker, later.c.id > e.c.id]
    gone.append(later.c.kind.in_(("label", "undo")))
    of = [e.c.project == project, e.c.kind == "label"]
    if until is not None:
        of.append(e.c.id <= until)
        gone.append(later.c.id <= until)
    some = (
        sa.select(t.task.c.id.label("name"), t.worker.c.id.label("who"), e.c.payload, t.task.c.payload.label("shown"))
        .join(t.task, sa.and_(t.task.c.project == e.c.project, t.task.c.code == e.c.task))
        .join(t.worker, sa.and_(t.worker.c.project == e.c.project, t.worker.c.code == e.c.worker))
        .where(*of, ~sa.exists().where(*gone))
        .order_by(e.c.task, e.c.worker)
    )
    out = []
    for row in query(some):
        said = json.loads(row.payload)
        if said["status"] != "surplus":
            out.append((row.name, row.who, said["answer"], json.loads(row.shown)))
    return out
