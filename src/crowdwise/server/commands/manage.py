"""What a lead does: tasks, gold, workers, pauses, settings. Every act stands in the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ...core.errors import CrowdwiseError
from ..batch import Batch
from ..live.checks import CHOSEN
from ..problems import Problem
from ..serialization import dumps, name_of, payload_of, text_of, worker_name_of
from ..store import tables as t
from .annotate import look_at_project

WORKER_KINDS = ("human", "model")
# Names in one event at most.
NAMES = 5_000


def add_tasks(batch: Batch, given: Sequence[Mapping[str, Any]], by: str | None = None) -> dict[str, Any]:
    """Tasks with an id, a payload and perhaps gold; all of them or none. One that is there with the same payload is
    left alone."""
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
    look_at_project(batch)
    return {"added": len(fresh), "there": len(there)}


def _unchanged(batch: Batch, there: Mapping[str, str]) -> None:
    codes = {batch.live.crowd.task_code[name]: name for name in there}
    some = list(codes)
    for at in range(0, len(some), 500):
        for code, payload in batch.payloads(some[at : at + 500]).items():
            if dumps(payload) != there[codes[code]]:
                raise Problem(409, f"task {codes[code][:80]!r} is there already and shows something else")


def _store_tasks(batch: Batch, fresh: Mapping[str, tuple[str, Any]]) -> None:
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


def set_gold(batch: Batch, name: str, answer: Any, by: str | None = None, *, drawn: str = CHOSEN) -> dict[str, Any]:
    """The truth of a task, or None to take it back. `drawn`: how the task was drawn; gold of random tasks calibrates
    confidence, other gold only teaches."""
    task = batch.task(name)
    if answer is not None:
        payload = batch.payloads([task])[task] if batch.live.kind.looks else {}
        answer = batch.live.kind.check(answer, payload)
    how = batch.live.drawn_how(task, drawn)
    batch.enter("gold", task=task, payload={"answer": answer} | ({} if how == CHOSEN else {"drawn": how}))
    of = (t.task.c.project == batch.project, t.task.c.code == task)
    batch.execute(sa.update(t.task).where(*of).values(gold=None if answer is None else dumps(answer)))
    batch.note(by, "gold", task=name, answer=answer, drawn=how)
    look_at_project(batch)
    return {"task": name, "answer": answer}


def add_worker(batch: Batch, name: str, kind: str = "human", cost: float | None = None, by: str | None = None) -> int:
    """A new worker's number."""
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


def pause(batch: Batch, name: str, reason: str, by: str | None = None) -> dict[str, Any]:
    """Give this worker no more tasks; what they hold comes back."""
    worker = batch.worker(name)
    reason = text_of(reason, "the reason", 500).strip() or "paused by the lead"
    batch.enter("pause", worker=worker, payload={"reason": reason, "by": "lead"})
    _status(batch, worker, "paused")
    batch.note(by, "pause", worker=name, reason=reason)
    return {"worker": name, "paused": reason}


def resume(batch: Batch, name: str, by: str | None = None) -> dict[str, Any]:
    """Lift a pause, the floor's too."""
    worker = batch.worker(name)
    batch.enter("resume", worker=worker)
    _status(batch, worker, "active")
    batch.note(by, "resume", worker=name)
    return {"worker": name, "paused": None}


def _status(batch: Batch, worker: int, status: str) -> None:
    of = (t.worker.c.project == batch.project, t.worker.c.code == worker)
    batch.execute(sa.update(t.worker).where(*of).values(status=status))


def change(batch: Batch, given: Mapping[str, Any], by: str | None = None) -> dict[str, Any]:
    """Other settings."""
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
        look_at_project(batch)
    return config.to_dict()
