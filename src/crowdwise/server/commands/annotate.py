"""What a worker does: take tasks, answer, skip, take back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...active.records import NextTask
from ..batch import Batch
from ..live.crowd import DAY
from ..live.leases import Lease
from ..problems import Problem
from ..store.log import Event

# Tasks in one worker's hands at most.
MAX_ASSIGNED = 200
PAUSED = "you are paused; the lead knows why"


@dataclass(slots=True)
class Submission:
    """An answer as it came; `body` is a hash of the request, `trusted`: an admin enters it for a worker."""

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
    """What a worker has in hand now, and why it is not more; `texts` are what the tasks show, in JSON."""

    leases: list[Lease]
    names: list[str]
    stopped: dict[str, Any] | None
    progress: dict[str, int]
    texts: list[str] = field(default_factory=list)

    @property
    def codes(self) -> list[int]:
        """The tasks' numbers."""
        return [lease.task for lease in self.leases]


def take(batch: Batch, worker: int, n: int) -> AssignedTasks:
    """Up to n tasks in the worker's hands: those they have already, then new ones."""
    live = batch.live
    stopped: dict[str, Any] | None = None
    leases = live.leases.of(worker)[:n]
    for at, lease in enumerate(leases):
        if lease.expires_at - batch.now < live.config.lease / 2:
            leases[at] = batch.lease(lease.task, worker)
    if live.config.paused:
        stopped = {"reason": "the lead has paused the project", "final": False}
    batch.touched = True  # whom the session asks, it keeps as asked
    while stopped is None and len(leases) < n:
        asked = live.session.ask(worker)
        if not isinstance(asked, NextTask):
            paused = worker in live.session.paused or live.session.below_floor(worker)
            stopped = {"reason": PAUSED if paused else asked.reason, "final": asked.final}
        else:
            leases.append(batch.lease(asked.task, worker, in_hand=True))
    return AssignedTasks(leases, [live.crowd.tasks[lease.task] for lease in leases], stopped, progress(batch, worker))


def progress(batch: Batch, worker: int) -> dict[str, int]:
    """How far this worker has come, and what is open."""
    who = batch.live.crowd.workers[worker]
    today = who.today if who.day == int(batch.now // DAY) else 0
    answered = who.answers + who.surplus
    return {"answered": answered, "today": today, "in_hand": len(batch.live.leases.of(worker))}


def label(batch: Batch, worker: int, submission: Submission, *, lead: bool = True) -> tuple[bool, dict[str, Any]]:
    """Store an answer; whether it is new, and its receipt. `lead`: the receipt is for one who may see everything."""
    new, event = answer(batch, worker, submission)
    name, stopped = batch.live.crowd.tasks[event.task or 0], stopped_for(event, lead=lead)
    return new, {"event": event.id, "task": name, "status": status_for(event, lead=lead), "stopped": stopped}


def answer(batch: Batch, worker: int, submission: Submission) -> tuple[bool, Event]:
    """The same with the event itself, the one that the key names already or a new one."""
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
    # An answer of theirs may stand; those that did not count are looked up in the log.
    before = batch.last_label(worker, task) if has or live.crowd.workers[worker].surplus > 0 else None
    status = "replaced" if has else _status(batch, task, worker, held)
    given = {"answer": checked, "status": status, "stopped": ""}
    if live.hides_gold(task) and not held:
        as_usual = _late_status(batch, task, worker, before)
        if as_usual != status:
            given["receipt"] = as_usual
    if submission.about:
        given["about"] = submission.about
    if before is not None:
        given["was"] = "surplus" if before.payload["status"] == "surplus" else "counted"
    event, reason = batch.enter(
        "label",
        task=task,
        worker=worker,
        payload=given,
        client_ms=submission.client_ms,
        lease=submission.lease,
        key=submission.key,
        body=submission.body,
        supersedes=None if before is None else before.id,
    )
    event.payload["stopped"] = reason
    _look(batch, worker)
    return True, event


def _status(batch: Batch, task: int, worker: int, held: bool) -> str:
    """counted, or surplus where the task has had its answers."""
    live = batch.live
    cap = live.config.cap
    if cap is None or live.hides_gold(task):
        return "counted"
    n = live.session.model.answer_lists.n_of(task)
    # Who has the task in hand comes before who is late.
    room = n < cap if held else n + live.leases.others(task, worker) < cap
    return "counted" if room else "surplus"


def _late_status(batch: Batch, task: int, worker: int, before: Event | None) -> str:
    """What the receipt of a late answer to a gold task says: the same as of a task without gold, which takes no more
    answers than the cap. Otherwise a late answer would tell which tasks are gold."""
    live = batch.live
    if before is not None and status_for(before, lead=False) != "surplus":
        return "replaced"
    cap, own = live.config.cap, live.session.model.has(task, worker)
    n = live.session.model.answer_lists.n_of(task) - own
    return "counted" if cap is None or n + live.leases.others(task, worker) < cap else "surplus"


def status_for(event: Event, *, lead: bool) -> str:
    """The status of an answer: as it is for a lead, as it would be without gold for a worker."""
    return str(event.payload["status"] if lead else event.payload.get("receipt", event.payload["status"]))


def stopped_for(event: Event, *, lead: bool) -> str | None:
    """Why a task stopped. Only a lead is told: it would tell which tasks are gold, and what others answered."""
    return (event.payload["stopped"] or None) if lead else None


def _look(batch: Batch, worker: int) -> None:
    """What an answer may bring about: the worker falls below the floor, the project is done."""
    live = batch.live
    if not live.crowd.workers[worker].paused:
        reason = live.session.below_floor(worker)
        if reason:
            batch.enter("pause", worker=worker, payload={"reason": reason, "by": "floor"})
    look_at_project(batch)


def look_at_project(batch: Batch) -> None:
    """Enter it into the log when the project stops, and when it goes on."""
    reason = batch.live.session.finished()
    if bool(reason) != bool(batch.live.stopped):
        batch.enter("stop", payload={"reason": reason})


def skip(batch: Batch, worker: int, name: str, why: str, key: str, body: str) -> tuple[bool, dict[str, Any]]:
    """A task that this worker does not want; they do not get it again."""
    again = repeated(batch, worker, key, body)
    if again is not None:
        return False, {"event": again.id, "task": name, "status": "skipped"}
    task = batch.task(name)
    if (task, worker) not in batch.live.leases.held:
        raise Problem(409, f"task {name[:80]!r} is not in your hands; ask for the next one")
    event, _ = batch.enter("skip", task=task, worker=worker, payload={"reason": why}, key=key, body=body)
    return True, {"event": event.id, "task": name, "status": "skipped"}


def undo(batch: Batch, worker: int, name: str | None, key: str, body: str) -> tuple[bool, dict[str, Any]]:
    """Take back the last answer (to a task); the task is in the worker's hands again, unless they are paused."""
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
    look_at_project(batch)
    return True, _undone(batch, event)


def _undone(batch: Batch, event: Event) -> dict[str, Any]:
    name, answer = batch.live.crowd.tasks[event.task or 0], event.payload["answer"]
    return {"event": event.id, "task": name, "status": "undone", "answer": answer}


def repeated(batch: Batch, worker: int, key: str, body: str) -> Event | None:
    """The event that this key has named already; the same key with another body is refused."""
    event = batch.keyed(worker, key)
    if event is not None and event.body != body:
        raise Problem(422, "this Idempotency-Key came with another body before; make a new key for each answer")
    return event
