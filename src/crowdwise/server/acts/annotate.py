"""What a worker does: take tasks, answer, skip, take back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...active.records import Asked
from ..live.crowd import DAY
from ..live.leases import Lease
from ..problems import Problem
from ..shift import Shift
from ..store.log import Event

# Tasks in one worker's hands at most.
HANDS = 200
PAUSED = "you are paused; the lead knows why"


@dataclass(slots=True)
class Said:
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
class Hand:
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


def take(shift: Shift, worker: int, n: int) -> Hand:
    """Up to n tasks in the worker's hands: those they have already, then new ones."""
    live = shift.live
    stopped: dict[str, Any] | None = None
    leases = live.leases.of(worker)[:n]
    for at, lease in enumerate(leases):
        if lease.expires_at - shift.now < live.config.lease / 2:
            leases[at] = shift.lend(lease.task, worker)
    if live.config.paused:
        stopped = {"reason": "the lead has paused the project", "final": False}
    shift.touched = True  # whom the session asks, it keeps as asked
    while stopped is None and len(leases) < n:
        asked = live.session.ask(worker)
        if not isinstance(asked, Asked):
            paused = worker in live.session.paused or live.session.below_floor(worker)
            stopped = {"reason": PAUSED if paused else asked.reason, "final": asked.final}
        else:
            leases.append(shift.lend(asked.task, worker, in_hand=True))
    return Hand(leases, [live.crowd.tasks[each.task] for each in leases], stopped, progress(shift, worker))


def progress(shift: Shift, worker: int) -> dict[str, int]:
    """How far this worker has come, and what is open."""
    who = shift.live.crowd.workers[worker]
    today = who.today if who.day == int(shift.now // DAY) else 0
    answered = who.answers + who.surplus
    return {"answered": answered, "today": today, "in_hand": len(shift.live.leases.of(worker))}


def label(shift: Shift, worker: int, said: Said, *, lead: bool = True) -> tuple[bool, dict[str, Any]]:
    """Store an answer; whether it is new, and its receipt. `lead`: the receipt is for one who may see everything."""
    new, event = answer(shift, worker, said)
    name, stopped = shift.live.crowd.tasks[event.task or 0], stopped_for(event, lead=lead)
    return new, {"event": event.id, "task": name, "status": status_for(event, lead=lead), "stopped": stopped}


def answer(shift: Shift, worker: int, said: Said) -> tuple[bool, Event]:
    """The same with the event itself, the one that the key names already or a new one."""
    again = repeated(shift, worker, said.key, said.body)
    if again is not None:
        return False, again
    live = shift.live
    task = shift.task(said.task)
    held = (task, worker) in live.leases.held
    if not said.trusted and not held and not shift.was_given(task, worker):
        raise Problem(403, f"task {said.task[:80]!r} was not given to you; ask for the next one")
    if live.crowd.workers[worker].paused and not held and not said.trusted:
        raise Problem(403, PAUSED)
    payload = shift.payloads([task])[task] if live.kind.looks else {}
    checked = live.kind.check(said.answer, payload)
    has = live.session.model.has(task, worker)
    # An answer of theirs may stand; those that did not count are looked up in the log.
    before = shift.last_label(worker, task) if has or live.crowd.workers[worker].surplus > 0 else None
    status = "replaced" if has else _status(shift, task, worker, held)
    given = {"answer": checked, "status": status, "stopped": ""}
    if live.hides_gold(task) and not held:
        as_usual = _late_status(shift, task, worker, before)
        if as_usual != status:
            given["receipt"] = as_usual
    if said.about:
        given["about"] = said.about
    if before is not None:
        given["was"] = "surplus" if before.payload["status"] == "surplus" else "counted"
    event, reason = shift.enter(
        "label", task=task, worker=worker, payload=given, client_ms=said.client_ms, lease=said.lease, key=said.key,
        body=said.body, supersedes=None if before is None else before.id,
    )  # fmt: skip
    event.payload["stopped"] = reason
    _look(shift, worker)
    return True, event


def _status(shift: Shift, task: int, worker: int, held: bool) -> str:
    """counted, or surplus where the task has had its answers."""
    live = shift.live
    cap = live.config.cap
    if cap is None or live.hides_gold(task):
        return "counted"
    n = live.session.model.chains.n_of(task)
    # Who has the task in hand comes before who is late.
    room = n < cap if held else n + live.leases.others(task, worker) < cap
    return "counted" if room else "surplus"


def _late_status(shift: Shift, task: int, worker: int, before: Event | None) -> str:
    """What the receipt of a late answer to a gold task says: the same as of a task without gold, which takes no more
    answers than the cap. Otherwise a late answer would tell which tasks are gold."""
    live = shift.live
    if before is not None and status_for(before, lead=False) != "surplus":
        return "replaced"
    cap, own = live.config.cap, live.session.model.has(task, worker)
    n = live.session.model.chains.n_of(task) - own
    return "counted" if cap is None or n + live.leases.others(task, worker) < cap else "surplus"


def status_for(event: Event, *, lead: bool) -> str:
    """The status of an answer: as it is for a lead, as it would be without gold for a worker."""
    return str(event.payload["status"] if lead else event.payload.get("receipt", event.payload["status"]))


def stopped_for(event: Event, *, lead: bool) -> str | None:
    """Why a task stopped. Only a lead is told: it would tell which tasks are gold, and what others answered."""
    return (event.payload["stopped"] or None) if lead else None


def _look(shift: Shift, worker: int) -> None:
    """What an answer may bring about: the worker falls below the floor, the project is done."""
    live = shift.live
    if not live.crowd.workers[worker].paused:
        reason = live.session.below_floor(worker)
        if reason:
            shift.enter("pause", worker=worker, payload={"reason": reason, "by": "floor"})
    look_at_project(shift)


def look_at_project(shift: Shift) -> None:
    """Enter it into the log when the project stops, and when it goes on."""
    reason = shift.live.session.finished()
    if bool(reason) != bool(shift.live.stopped):
        shift.enter("stop", payload={"reason": reason})


def skip(shift: Shift, worker: int, name: str, why: str, key: str, body: str) -> tuple[bool, dict[str, Any]]:
    """A task that this worker does not want; they do not get it again."""
    again = repeated(shift, worker, key, body)
    if again is not None:
        return False, {"event": again.id, "task": name, "status": "skipped"}
    task = shift.task(name)
    if (task, worker) not in shift.live.leases.held:
        raise Problem(409, f"task {name[:80]!r} is not in your hands; ask for the next one")
    event, _ = shift.enter("skip", task=task, worker=worker, payload={"reason": why}, key=key, body=body)
    return True, {"event": event.id, "task": name, "status": "skipped"}


def undo(shift: Shift, worker: int, name: str | None, key: str, body: str) -> tuple[bool, dict[str, Any]]:
    """Take back the last answer (to a task); the task is in the worker's hands again, unless they are paused."""
    again = repeated(shift, worker, key, body)
    if again is not None:
        return False, _undone(shift, again)
    task = None if name is None else shift.task(name)
    before = shift.last_label(worker, task)
    if before is None:
        raise Problem(409, "there is no answer of yours that could be taken back")
    was = "surplus" if before.payload["status"] == "surplus" else "counted"
    event, _ = shift.enter(
        "undo", task=before.task, worker=worker, supersedes=before.id, key=key, body=body,
        payload={"was": was, "answer": before.payload["answer"]},
    )  # fmt: skip
    late = status_for(before, lead=False) == "surplus"
    if not late and not shift.live.crowd.workers[worker].paused:
        shift.lend(before.task or 0, worker)
    else:
        shift.end(worker, before.task)
    look_at_project(shift)
    return True, _undone(shift, event)


def _undone(shift: Shift, event: Event) -> dict[str, Any]:
    name, answer = shift.live.crowd.tasks[event.task or 0], event.payload["answer"]
    return {"event": event.id, "task": name, "status": "undone", "answer": answer}


def repeated(shift: Shift, worker: int, key: str, body: str) -> Event | None:
    """The event that this key has named already; the same key with another body is refused."""
    event = shift.keyed(worker, key)
    if event is not None and event.body != body:
        raise Problem(422, "this Idempotency-Key came with another body before; make a new key for each answer")
    return event
