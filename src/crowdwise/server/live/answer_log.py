"""The current answers at an event of the log, with the names of tasks and workers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ..store import tables as t


def answers_at(query: Callable[..., Any], project: str, until: int | None = None) -> list[Any]:
    """(task, worker, answer, payload of the task, time, seconds, metadata of the answer), ordered by task and worker;
    without surplus answers."""
    e, later = t.event.alias("e"), t.event.alias("later")
    gone = [later.c.project == e.c.project, later.c.task == e.c.task, later.c.worker == e.c.worker, later.c.id > e.c.id]
    gone.append(later.c.kind.in_(("label", "undo")))
    of = [e.c.project == project, e.c.kind == "label"]
    if until is not None:
        of.append(e.c.id <= until)
        gone.append(later.c.id <= until)
    columns = (t.task.c.id.label("name"), t.worker.c.id.label("who"), e.c.payload, t.task.c.payload.label("shown"),
               e.c.received_at, e.c.client_ms)  # fmt: skip
    some = (
        sa.select(*columns)
        .join(t.task, sa.and_(t.task.c.project == e.c.project, t.task.c.code == e.c.task))
        .join(t.worker, sa.and_(t.worker.c.project == e.c.project, t.worker.c.code == e.c.worker))
        .where(*of, ~sa.exists().where(*gone))
        .order_by(e.c.task, e.c.worker)
    )
    out = []
    for row in query(some):
        payload = json.loads(row.payload)
        if payload["status"] != "surplus":
            took = None if row.client_ms is None else row.client_ms / 1000
            about = payload.get("about") or {}
            out.append((row.name, row.who, payload["answer"], json.loads(row.shown), row.received_at, took, about))
    return out
