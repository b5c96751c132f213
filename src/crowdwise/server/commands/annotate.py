"""Commands of workers: take tasks, answer, skip, undo."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...active.records import NextTask
from ..batch import WriteBatch
from ..live.crowd import DAY
from ..live.leases import Lease
from ..problems import Problem
from ..store.log import LogEvent

# Largest number of tasks assigned to one worker.
MAX_ASSIGNED = 200
PAUSED = "you are paused; the lead knows why"


@dataclass(slots=True)
class Submission:
    """An answer of a request; `body` is a hash of the request; with `trusted`, an admin enters it for a worker."""

    task: str
    answer: Any
    key: str
    body: str
    lease: int | None = None
    client_ms: int | None = None
    trusted: bool = False
    about: dict[str, Any] | None = None


@dataclass(slots=True)
class AssignedTasks:
    """The assigned tasks of a worker, and why there are no more; `texts` are their payloads in JSON, `notes` those of
    reviewers."""

    leases: list[Lease]
    names: list[str]
    stopped: dict[str, Any] | None
    progress: dict[str, int]
    texts: list[str] = field(default_factory=list)
    notes: dict[int, str] = field(default_factory=dict)  # by code of the task, why an answer was sent back

    @property
    def codes(self) -> list[int]:
        """The codes of the tasks."""
        return [lease.task for lease in self.leases]


def take(batch: WriteBatch, worker: int, n: int) -> AssignedTasks:
    """Assign up to n tasks: those that the worker has already, then new ones."""
    live = batch.live
    stopped: dict[str, Any] | None = None
    leases = live.leases.of(worker)[:n]
    for at, lease in enumerate(leases):
        if lease.expires_at - batch.now < live.config.lease / 2:
            leases[at] = batch.lease(lease.task, worker)
    if live.config.paused:
        stopped = {"reason": "the lead has paused the project", "final": False}
    batch.touched = True  # the session records assignments
    while stopped is None and len(leases) < n:
        assignment = live.session.ask(worker)
        if not isinstance(assignment, NextTask):
            paused = worker in live.session.paused or live.session.below_floor(worker)
            stopped = {"reason": PAUSED if paused else assignment.reason, "final": assignment.final}
        else:
            leases.append(batch.lease(assignment.task, worker, in_hand=True))
    names = [live.crowd.tasks[lease.task] for lease in leases]
    notes = {
        lease.task: note
        for lease in leases
        if live.reviews.returned and (note := live.reviews.returned.get(lease.task, {}).get(worker))
    }
    return AssignedTasks(leases, names, stopped, progress(batch, worker), notes=notes)


def progress(batch: WriteBatch, worker: int) -> dict[str, int]:
    """Numbers of answers and of assigned tasks of this worker."""
    who = batch.live.crowd.workers[worker]
    today = who.today if who.day == int(batch.now // DAY) else 0
    answered = who.answers + who.surplus
    return {"answered": answered, "today": today, "in_hand": len(batch.live.leases.of(worker))}


def label(batch: WriteBatch, worker: int, submission: Submission, *, lead: bool = True) -> tuple[bool, dict[str, Any]]:
    """Store an answer; return whether it is new, and its receipt, which for a lead shows the true status."""
    new, event = answer(batch, worker, submission)
    name, stopped = batch.live.crowd.tasks[event.task or 0], stopped_for(event, lead=lead)
    return new, {"event": event.id, "task": name, "status": status_for(event, lead=lead), "stopped": stopped}


def answer(batch: WriteBatch, worker: int, submission: Submission) -> tuple[bool, LogEvent]:
    """Store an answer; return whether it is new, and its event, an earlier one if the key is repeated."""
    again = repeated(batch, worker, submission.key, submission.body)
    if again is not None:
        return False, again
    live = batch.live
    task = batch.task(submission.task)
    held = (task, worker) in live.leases.held
    if not submission.trusted and not held and not batch.was_given(task, worker):
        raise Problem(403, f"task {submission.task[:80]!r} was not given to you; ask for the next one")
    if live.crowd.workers[worker].paused and not held and not submission.trusted:
        raise Problem(403, PAUSED)
    payload = batch.payloads([task])[task] if live.kind.looks else {}
    checked = live.kind.check(submission.answer, payload)
    has = live.session.model.has(task, worker)
    # An earlier answer of the worker is replaced; surplus answers are found in the log only.
    before = batch.last_label(worker, task) if has or live.crowd.workers[worker].surplus > 0 else None
    status = "replaced" if has else _status(batch, task, worker, held)
    fields = {"answer": checked, "status": status, "stopped": ""}
    if live.hides_gold(task) and not held:
        as_usual = _late_status(batch, task, worker, before)
        if as_usual != status:
            fields["receipt"] = as_usual
    if submission.about:
        fields["about"] = submission.about
    if before is not None:
        fields["was"] = "surplus" if before.payload["status"] == "surplus" else "counted"
    event, reason = batch.enter(
        "label",
        task=task,
        worker=worker,
        payload=fields,
        client_ms=submission.client_ms,
        lease=submission.lease,
        key=submission.key,
        body=submission.body,
        supersedes=None if before is None else before.id,
    )
    event.payload["stopped"] = reason
    _check_consequences(batch, worker)
    return True, event


def _status(batch: WriteBatch, task: int, worker: int, held: bool) -> str:
    """counted, or surplus if the task has reached its cap."""
    live = batch.live
    cap = live.cap_of(task)
    if cap is None or live.hides_gold(task):
        return "counted"
    n = live.session.model.answer_lists.n_of(task)
    # Workers to whom the task is assigned have priority over late answers.
    room = n < cap if held else n + live.leases.others(task, worker) < cap
    return "counted" if room else "surplus"


def _late_status(batch: WriteBatch, task: int, worker: int, before: LogEvent | None) -> str:
    """The status in the receipt of a late answer to a gold task: the same as for a task without gold, which is capped.
    Otherwise a late answer would reveal which tasks are gold."""
    live = batch.live
    if before is not None and status_for(before, lead=False) != "surplus":
        return "replaced"
    cap, own = live.cap_of(task), live.session.model.has(task, worker)
    n = live.session.model.answer_lists.n_of(task) - own
    return "counted" if cap is None or n + live.leases.others(task, worker) < cap else "surplus"


def status_for(event: LogEvent, *, lead: bool) -> str:
    """The status of an answer: the true one for a lead, the one without gold for a worker."""
    return str(event.payload["status"] if lead else event.payload.get("receipt", event.payload["status"]))


def stopped_for(event: LogEvent, *, lead: bool) -> str | None:
    """Why a task stopped; for a lead only, because it would reveal gold tasks and the answers of others."""
    return (event.payload["stopped"] or None) if lead else None


def _check_consequences(batch: WriteBatch, worker: int) -> None:
    """Pause the worker if an answer brings them below the floor, and stop the project if it is done."""
    live = batch.live
    if not live.crowd.workers[worker].paused:
        reason = live.session.below_floor(worker)
        if reason:
            batch.enter("pause", worker=worker, payload={"reason": reason, "by": "floor"})
    update_stopped(batch)


def update_stopped(batch: WriteBatch) -> None:
    """Log when the project stops or continues."""
    reason = batch.live.session.finished()
    if bool(reason) != bool(batch.live.stopped):
        batch.enter("stop", payload={"reason": reason})


def skip(batch: WriteBatch, worker: int, name: str, why: str, key: str, body: str) -> tuple[bool, dict[str, Any]]:
    """Skip a task; the worker does not get it again."""
    again = repeated(batch, worker, key, body)
    if again is not None:
        return False, {"event": again.id, "task": name, "status": "skipped"}
    task = batch.task(name)
    if (task, worker) not in batch.live.leases.held:
        raise Problem(409, f"task {name[:80]!r} is not in your hands; ask for the next one")
    event, _ = batch.enter("skip", task=task, worker=worker, payload={"reason": why}, key=key, body=body)
    return True, {"event": event.id, "task": name, "status": "skipped"}


def undo(batch: WriteBatch, worker: int, name: str | None, key: str, body: str) -> tuple[bool, dict[str, Any]]:
    """Undo the last answer (to a task); the task is assigned to the worker again, unless they are paused."""
    again = repeated(batch, worker, key, body)
    if again is not None:
        return False, _undone(batch, again)
    task = None if name is None else batch.task(name)
    before = batch.last_label(worker, task)
    if before is None:
        raise Problem(409, "there is no answer of yours that could be taken back")
    was = "surplus" if before.payload["status"] == "surplus" else "counted"
    event, _ = batch.enter(
        "undo", task=before.task, worker=worker, supersedes=before.id, key=key, body=body,
        payload={"was": was, "answer": before.payload["answer"]},
    )  # fmt: skip
    late = status_for(before, lead=False) == "surplus"
    if not late and not batch.live.crowd.workers[worker].paused:
        batch.lease(before.task or 0, worker)
    else:
        batch.end(worker, before.task)
    update_stopped(batch)
    return True, _undone(batch, event)


def _undone(batch: WriteBatch, event: LogEvent) -> dict[str, Any]:
    name, answer = batch.live.crowd.tasks[event.task or 0], event.payload["answer"]
    return {"event": event.id, "task": name, "status": "undone", "answer": answer}


def repeated(batch: WriteBatch, worker: int, key: str, body: str) -> LogEvent | None:
    """The earlier event with this key, if there is one; the same key with another body is refused."""
    event = batch.keyed(worker, key)
    if event is not None and event.body != body:
        raise Problem(422, "this Idempotency-Key came with another body before; make a new key for each answer")
    return event
