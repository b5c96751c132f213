"""Commands of reviewers and leads on one task: decide, send back, comment, exclude, ask for more answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..batch import WriteBatch
from ..live.status import task_row
from ..problems import Problem
from ..serialization import text_of
from ..store.search import history_of
from .annotate import update_stopped
from .manage import set_gold

# Longest note or comment, most answers that are asked for at once.
NOTE, MORE = 2_000, 100


def waiting(batch: WriteBatch, reviewer: str, n: int, after: int = 0) -> dict[str, Any]:
    """The next n tasks for this reviewer, with their payloads, estimates and answers without names; the first `after`
    tasks are passed over."""
    live = batch.live
    tasks = live.columns.waiting(live, reviewer)
    codes = [code for at, code in zip(range(after + n), tasks, strict=False) if at >= after]
    shown = batch.payloads(codes)
    rows = [_task(batch, code, reviewer) | {"payload": shown[code]} for code in codes]
    mine = sum(live.reviews.reviewed_by(task, reviewer) for task in live.reviews.decisions)
    return {"tasks": rows, "progress": {"mine": mine, "waiting": live.columns.n_queued(live)}}


def _task(batch: WriteBatch, code: int, reviewer: str) -> dict[str, Any]:
    """A task as a reviewer sees it: the answers in the order of the log, without the names of workers and without the
    decisions of other reviewers, so that nobody is believed for their name."""
    row = task_row(batch.live, code)
    batch.flush()
    events = history_of(batch.open_connection, batch.project, code)
    current: dict[int, dict[str, Any]] = {}
    comments = []
    for event in events:
        if event["kind"] in ("label", "undo"):
            current.pop(event["worker"], None)
            if event["kind"] == "label":
                current[event["worker"]] = event
        elif event["kind"] == "comment" and event.get("text"):
            comments.append({"at": event["at"], "text": event["text"]})
    answers = [
        {"answer": event["answer"], "at": event["at"], "counted": event.get("status") != "surplus"}
        for event in current.values()
    ]
    mine = [r for r in batch.live.reviews.decisions.get(code, ()) if r[0] == reviewer]
    begun = len(batch.live.reviews.decisions.get(code, ())) - len(mine)
    keys = ("id", "state", "why", "live", "settled")
    out = {key: row[key] for key in keys} | {"estimate": estimated(batch.live.config.kind, row)}
    return out | {"answers": answers, "comments": comments, "decided": begun}


def decide(
    batch: WriteBatch, name: str, answer: Any, reviewer: str, note: str = "", by: str | None = None
) -> dict[str, Any]:
    """Record a reviewer's decision; null withdraws it. The decision that settles a task makes its answer gold."""
    live, task = batch.live, batch.task(name)
    before = live.reviews.settled(task, live.config.reviewers)
    if task in live.gold and (before is None or not live.reviews.reviewed_by(task, reviewer)):
        raise Problem(409, f"task {name[:80]!r} has gold already; go on with the next one")
    if task in live.checks.queue:
        raise Problem(409, f"task {name[:80]!r} is in the check queue; answer it there, without seeing the others")
    if answer is not None:
        answer = live.kind.check(answer, batch.payloads([task])[task] if live.kind.looks else {})
        if not live.session.model.answer_lists.n_of(task):
            raise Problem(409, f"task {name[:80]!r} has no answers to review; set gold instead")
    elif not live.reviews.reviewed_by(task, reviewer):
        raise Problem(409, f"{reviewer[:80]} has not decided on task {name[:80]!r}")
    note = text_of(note, "the note", NOTE).strip()
    mine = next((row for row in live.reviews.decisions.get(task, ()) if row[0] == reviewer), None)
    if mine is not None and mine[1] == answer:  # sent again
        return {"task": name, "answer": answer, "accepted": mine[2], "gold": before}
    accepted = answer is not None and answer == estimated(live.config.kind, task_row(live, task))
    fields = {"by": reviewer, "answer": answer, "accepted": accepted, "note": note}
    batch.enter("review", task=task, payload=fields)
    batch.note(by, "review", task=name, by=reviewer, answer=answer, accepted=accepted)
    after = live.reviews.settled(task, live.config.reviewers)
    if after != before:
        set_gold(batch, name, after, by)
    return {"task": name, "answer": answer, "accepted": accepted, "gold": after}


def estimated(kind: str, row: Mapping[str, Any]) -> Any:
    """The estimate of a row of `task_row` (of the last fit, or else of the online model) in the form of an answer; None
    without one."""
    estimate = row["settled"] or row["live"]
    if not estimate:
        return None
    return _AS_ANSWER.get(kind, _label)(estimate)


def _label(estimate: Mapping[str, Any]) -> Any:
    return estimate.get("label")


def _side(estimate: Mapping[str, Any]) -> str | None:
    sides = {estimate["left"]: "left", estimate["right"]: "right"}
    return sides.get(estimate["winner"], "tie" if estimate["winner"] == "tie" else None)


def _spans(estimate: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "label": tag} for start, end, tag in json.loads(estimate["spans"])]


_AS_ANSWER: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "sets": lambda estimate: json.loads(estimate["labels"]),
    "numbers": lambda estimate: estimate["value"],
    "comparisons": _side,
    "similarities": lambda estimate: "same" if estimate["same"] else "different",
    "rankings": lambda estimate: estimate["ranking"].split(">") if "=" not in estimate["ranking"] else None,
    "spans": _spans,
}


def send_back(
    batch: WriteBatch, name: str, note: str, reviewer: str, workers: Sequence[str] | None = None, by: str | None = None
) -> dict[str, Any]:
    """Take back answers to a task (of all workers if none are named) and give it to them again, with a note."""
    live, task = batch.live, batch.task(name)
    note = text_of(note, "the note", NOTE).strip()
    if not note:
        raise Problem(422, "the note is empty; write what should be looked at again")
    if task in live.gold:
        raise Problem(409, f"task {name[:80]!r} has gold; remove it before answers are sent back")
    codes = [batch.worker(worker) for worker in workers] if workers else _answered(batch, task)
    if not codes:
        raise Problem(409, f"task {name[:80]!r} has no answers that could be sent back")
    for worker in codes:
        _return_answer(batch, task, worker, note, reviewer)
    batch.note(by, "return", task=name, by=reviewer, answers=len(codes), note=note[:500])
    update_stopped(batch)
    return {"task": name, "returned": len(codes)}


def _answered(batch: WriteBatch, task: int) -> list[int]:
    current: dict[int, bool] = {}
    batch.flush()
    for event in history_of(batch.open_connection, batch.project, task):
        if event["kind"] in ("label", "undo"):
            current[event["worker"]] = event["kind"] == "label"
    return [worker for worker, there in current.items() if there]


def _return_answer(batch: WriteBatch, task: int, worker: int, note: str, reviewer: str) -> None:
    before = batch.last_label(worker, task)
    if before is None:
        raise Problem(409, f"{batch.live.crowd.workers[worker].name[:80]!r} has no answer to this task")
    was = "surplus" if before.payload["status"] == "surplus" else "counted"
    fields = {"was": was, "answer": before.payload["answer"]}
    batch.enter("undo", task=task, worker=worker, supersedes=before.id, payload=fields)
    batch.enter("return", task=task, worker=worker, payload={"note": note, "by": reviewer})
    if was == "counted" and not batch.live.crowd.workers[worker].paused:
        batch.lease(task, worker)


def comment(
    batch: WriteBatch, name: str, text: str, author: str, kind: str = "comment", worker: int | None = None,
    by: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Add a comment, a worker's report, or the end of the reports of a task."""
    task = batch.task(name)
    text = text_of(text, "the comment", NOTE).strip()
    if not text and kind != "resolved":
        raise Problem(422, "the comment is empty")
    if worker is not None and not batch.was_given(task, worker):
        raise Problem(403, f"task {name[:80]!r} was not given to you")
    event, _ = batch.enter("comment", task=task, worker=worker, payload={"by": author, "kind": kind, "text": text})
    if by is not None:
        batch.note(by, "comment", task=name, kind=kind)
    return {"event": event.id, "task": name}


def exclude(batch: WriteBatch, name: str, excluded: bool, reason: str = "", by: str | None = None) -> dict[str, Any]:
    """Leave a task out of fits and exports and give it to nobody, or end this."""
    live, task = batch.live, batch.task(name)
    reason = text_of(reason, "the reason", NOTE).strip()
    if (task in live.excluded) != excluded:
        batch.enter("exclude", task=task, payload={"excluded": excluded, "reason": reason})
        batch.note(by, "exclude", task=name, excluded=excluded, reason=reason[:500])
        update_stopped(batch)
    return {"task": name, "excluded": excluded}


def ask_again(batch: WriteBatch, name: str, answers: int, by: str | None = None) -> dict[str, Any]:
    """Keep a task open until it has this many more answers."""
    live, task = batch.live, batch.task(name)
    if not 1 <= answers <= MORE:
        raise Problem(422, f"1 to {MORE} answers can be asked for at once, got {answers}")
    if task in live.gold or task in live.excluded:
        raise Problem(409, f"task {name[:80]!r} has gold or is excluded; nobody is asked about it")
    batch.enter("more", task=task, payload={"answers": answers})
    batch.note(by, "more", task=name, answers=answers)
    update_stopped(batch)
    return {"task": name, "answers": answers}
