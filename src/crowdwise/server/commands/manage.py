"""Commands of leads: tasks, gold, workers, pauses, settings. Every action is in the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ...core.errors import CrowdwiseError
from ..batch import WriteBatch
from ..live.checks import CHOSEN
from ..problems import Problem
from ..serialization import dumps, name_of, payload_of, text_of, worker_name_of
from ..store import tables as t
from .annotate import update_stopped

WORKER_KINDS = ("human", "model")
# Largest number of names in one event.
NAMES = 5_000


def add_tasks(batch: WriteBatch, given: Sequence[Mapping[str, Any]], by: str | None = None) -> dict[str, Any]:
    """Add tasks with an id, a payload and optionally gold, all or none. Existing tasks with the same payload are left
    unchanged."""
    live = batch.live
    fresh: dict[str, tuple[str, Any]] = {}
    there: dict[str, str] = {}
    for row in given:
        name = name_of(row.get("id"), "the id of a task")
        payload = payload_of(row.get("payload"), f"task {name[:40]!r}")
        if not isinstance(payload, dict):
            raise Problem(422, f"the payload of task {name[:40]!r} must be fields, such as {{'text': ...}}")
        live.kind.task(payload)
        gold = row.get("gold")
        gold = None if gold is None else live.kind.check(gold, payload)
        if name in fresh:
            raise Problem(422, f"task {name[:80]!r} is given twice")
        if name in live.crowd.task_code:
            there[name] = dumps(payload)
        else:
            fresh[name] = (dumps(payload), gold)
    _unchanged(batch, there)
    _store_tasks(batch, fresh)
    batch.note(by, "tasks", added=len(fresh), there=len(there))
    update_stopped(batch)
    return {"added": len(fresh), "there": len(there)}


def _unchanged(batch: WriteBatch, there: Mapping[str, str]) -> None:
    codes = {batch.live.crowd.task_code[name]: name for name in there}
    some = list(codes)
    for at in range(0, len(some), 500):
        for code, payload in batch.payloads(some[at : at + 500]).items():
            if dumps(payload) != there[codes[code]]:
                raise Problem(409, f"task {codes[code][:80]!r} is there already and shows something else")


def _store_tasks(batch: WriteBatch, fresh: Mapping[str, tuple[str, Any]]) -> None:
    names = list(fresh)
    first = len(batch.live.crowd.tasks)
    rows = [
        {"project": batch.project, "code": first + i, "id": name, "payload": fresh[name][0],
         "gold": None if fresh[name][1] is None else dumps(fresh[name][1])}
        for i, name in enumerate(names)
    ]  # fmt: skip
    if not rows:
        return
    batch.execute(sa.insert(t.task), rows)
    for at in range(0, len(names), NAMES):
        batch.enter("tasks", payload={"names": names[at : at + NAMES]})
    for i, name in enumerate(names):
        if fresh[name][1] is not None:
            batch.enter("gold", task=first + i, payload={"answer": fresh[name][1]})


def set_gold(
    batch: WriteBatch, name: str, answer: Any, by: str | None = None, *, drawn: str = CHOSEN
) -> dict[str, Any]:
    """Set the gold of a task, or remove it (None). `drawn` is how the task was drawn: gold of random tasks calibrates
    confidence, other gold is used in fits only."""
    task = batch.task(name)
    if answer is not None:
        payload = batch.payloads([task])[task] if batch.live.kind.looks else {}
        answer = batch.live.kind.check(answer, payload)
    how = batch.live.drawn_how(task, drawn)
    batch.enter("gold", task=task, payload={"answer": answer} | ({} if how == CHOSEN else {"drawn": how}))
    of = (t.task.c.project == batch.project, t.task.c.code == task)
    batch.execute(sa.update(t.task).where(*of).values(gold=None if answer is None else dumps(answer)))
    batch.note(by, "gold", task=name, answer=answer, drawn=how)
    update_stopped(batch)
    return {"task": name, "answer": answer}


def add_worker(
    batch: WriteBatch, name: str, kind: str = "human", cost: float | None = None, by: str | None = None
) -> int:
    """Add a worker and return their code."""
    worker_name_of(name)
    if kind not in WORKER_KINDS:
        raise Problem(422, f"kind of worker must be one of {', '.join(WORKER_KINDS)}, got {kind[:40]!r}")
    cost = batch.live.config.cost if cost is None else cost
    if not 0 < cost <= 1e9:
        raise Problem(422, f"the cost of an answer must be above 0 and at most a billion, got {cost:g}")
    if name in batch.live.crowd.worker_code:
        raise Problem(409, f"there is a worker {name[:80]!r} already; choose another name")
    code = len(batch.live.crowd.workers)
    row = {"project": batch.project, "code": code, "id": name, "kind": kind, "cost": cost, "status": "active"}
    batch.execute(sa.insert(t.worker), row)
    batch.enter("worker", worker=code, payload={"name": name, "kind": kind, "cost": cost})
    batch.note(by, "worker", worker=name, kind=kind, cost=cost)
    return code


def pause(batch: WriteBatch, name: str, reason: str, by: str | None = None) -> dict[str, Any]:
    """Pause a worker; their assigned tasks are released."""
    worker = batch.worker(name)
    reason = text_of(reason, "the reason", 500).strip() or "paused by the lead"
    batch.enter("pause", worker=worker, payload={"reason": reason, "by": "lead"})
    _status(batch, worker, "paused")
    batch.note(by, "pause", worker=name, reason=reason)
    return {"worker": name, "paused": reason}


def resume(batch: WriteBatch, name: str, by: str | None = None) -> dict[str, Any]:
    """End a pause, also one by the floor."""
    worker = batch.worker(name)
    batch.enter("resume", worker=worker)
    _status(batch, worker, "active")
    batch.note(by, "resume", worker=name)
    return {"worker": name, "paused": None}


def _status(batch: WriteBatch, worker: int, status: str) -> None:
    of = (t.worker.c.project == batch.project, t.worker.c.code == worker)
    batch.execute(sa.update(t.worker).where(*of).values(status=status))


def change(batch: WriteBatch, given: Mapping[str, Any], by: str | None = None) -> dict[str, Any]:
    """Change settings."""
    config = batch.live.config.changed(given)
    if given.get("accuracy") is not None:
        try:
            config.refuse_unused()
        except CrowdwiseError as error:
            raise Problem(422, str(error)) from error
    if given:
        batch.enter("config", payload=dict(given))
        of = t.project.c.id == batch.project
        batch.execute(sa.update(t.project).where(of).values(config=dumps(config.to_dict())))
        batch.note(by, "settings", **given)
        update_stopped(batch)
    return config.to_dict()
