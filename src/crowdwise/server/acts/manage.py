"""What a lead does: tasks, gold, workers, pauses, settings. Every act stands in the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ...core.errors import CrowdwiseError
from ..live.checks import CHOSEN
from ..problems import Problem
from ..shift import Shift
from ..store import tables as t
from ..words import dumps, name_of, payload_of, text_of, worker_name_of
from .annotate import look_at_project

WORKER_KINDS = ("human", "model")
# Names in one event at most.
NAMES = 5_000


def add_tasks(shift: Shift, given: Sequence[Mapping[str, Any]], by: str | None = None) -> dict[str, Any]:
    """Tasks with an id, a payload and perhaps gold; all of them or none. One that is there with the same payload is
    left alone."""
    live = shift.live
    fresh: dict[str, tuple[str, Any]] = {}
    there: dict[str, str] = {}
    for each in given:
        name = name_of(each.get("id"), "the id of a task")
        payload = payload_of(each.get("payload"), f"task {name[:40]!r}")
        if not isinstance(payload, dict):
            raise Problem(422, f"the payload of task {name[:40]!r} must be fields, such as {{'text': ...}}")
        live.kind.task(payload)
        gold = each.get("gold")
        gold = None if gold is None else live.kind.check(gold, payload)
        if name in fresh:
            raise Problem(422, f"task {name[:80]!r} is given twice")
        if name in live.crowd.task_code:
            there[name] = dumps(payload)
        else:
            fresh[name] = (dumps(payload), gold)
    _unchanged(shift, there)
    _store_tasks(shift, fresh)
    shift.note(by, "tasks", added=len(fresh), there=len(there))
    look_at_project(shift)
    return {"added": len(fresh), "there": len(there)}


def _unchanged(shift: Shift, there: Mapping[str, str]) -> None:
    codes = {shift.live.crowd.task_code[name]: name for name in there}
    some = list(codes)
    for at in range(0, len(some), 500):
        for code, payload in shift.payloads(some[at : at + 500]).items():
            if dumps(payload) != there[codes[code]]:
                raise Problem(409, f"task {codes[code][:80]!r} is there already and shows something else")


def _store_tasks(shift: Shift, fresh: Mapping[str, tuple[str, Any]]) -> None:
    names = list(fresh)
    first = len(shift.live.crowd.tasks)
    rows = [
        {"project": shift.project, "code": first + i, "id": name, "payload": fresh[name][0],
         "gold": None if fresh[name][1] is None else dumps(fresh[name][1])}
        for i, name in enumerate(names)
    ]  # fmt: skip
    if not rows:
        return
    shift.execute(sa.insert(t.task), rows)
    for at in range(0, len(names), NAMES):
        shift.enter("tasks", payload={"names": names[at : at + NAMES]})
    for i, name in enumerate(names):
        if fresh[name][1] is not None:
            shift.enter("gold", task=first + i, payload={"answer": fresh[name][1]})


def set_gold(shift: Shift, name: str, answer: Any, by: str | None = None, *, drawn: str = CHOSEN) -> dict[str, Any]:
    """The truth of a task, or None to take it back. `drawn`: how the task was drawn; gold of random tasks calibrates
    confidence, other gold only teaches."""
    task = shift.task(name)
    if answer is not None:
        payload = shift.payloads([task])[task] if shift.live.kind.looks else {}
        answer = shift.live.kind.check(answer, payload)
    how = shift.live.drawn_how(task, drawn)
    shift.enter("gold", task=task, payload={"answer": answer} | ({} if how == CHOSEN else {"drawn": how}))
    of = (t.task.c.project == shift.project, t.task.c.code == task)
    shift.execute(sa.update(t.task).where(*of).values(gold=None if answer is None else dumps(answer)))
    shift.note(by, "gold", task=name, answer=answer, drawn=how)
    look_at_project(shift)
    return {"task": name, "answer": answer}


def add_worker(shift: Shift, name: str, kind: str = "human", cost: float | None = None, by: str | None = None) -> int:
    """A new worker's number."""
    worker_name_of(name)
    if kind not in WORKER_KINDS:
        raise Problem(422, f"kind of worker must be one of {', '.join(WORKER_KINDS)}, got {kind[:40]!r}")
    cost = shift.live.config.cost if cost is None else cost
    if not 0 < cost <= 1e9:
        raise Problem(422, f"the cost of an answer must be above 0 and at most a billion, got {cost:g}")
    if name in shift.live.crowd.worker_code:
        raise Problem(409, f"there is a worker {name[:80]!r} already; choose another name")
    code = len(shift.live.crowd.workers)
    row = {"project": shift.project, "code": code, "id": name, "kind": kind, "cost": cost, "status": "active"}
    shift.execute(sa.insert(t.worker), row)
    shift.enter("worker", worker=code, payload={"name": name, "kind": kind, "cost": cost})
    shift.note(by, "worker", worker=name, kind=kind, cost=cost)
    return code


def pause(shift: Shift, name: str, reason: str, by: str | None = None) -> dict[str, Any]:
    """Give this worker no more tasks; what they hold comes back."""
    worker = shift.worker(name)
    reason = text_of(reason, "the reason", 500).strip() or "paused by the lead"
    shift.enter("pause", worker=worker, payload={"reason": reason, "by": "lead"})
    _status(shift, worker, "paused")
    shift.note(by, "pause", worker=name, reason=reason)
    return {"worker": name, "paused": reason}


def resume(shift: Shift, name: str, by: str | None = None) -> dict[str, Any]:
    """Lift a pause, the floor's too."""
    worker = shift.worker(name)
    shift.enter("resume", worker=worker)
    _status(shift, worker, "active")
    shift.note(by, "resume", worker=name)
    return {"worker": name, "paused": None}


def _status(shift: Shift, worker: int, status: str) -> None:
    of = (t.worker.c.project == shift.project, t.worker.c.code == worker)
    shift.execute(sa.update(t.worker).where(*of).values(status=status))


def change(shift: Shift, given: Mapping[str, Any], by: str | None = None) -> dict[str, Any]:
    """Other settings."""
    config = shift.live.config.changed(given)
    if given.get("accuracy") is not None:
        try:
            config.refuse_unused()
        except CrowdwiseError as error:
            raise Problem(422, str(error)) from error
    if given:
        shift.enter("config", payload=dict(given))
        of = t.project.c.id == shift.project
        shift.execute(sa.update(t.project).where(of).values(config=dumps(config.to_dict())))
        shift.note(by, "settings", **given)
        look_at_project(shift)
    return config.to_dict()
