"""Commands of the check queue: random tasks are labelled by an expert, whose answers become gold."""

from __future__ import annotations

import secrets
from typing import Any

from ..batch import WriteBatch
from ..live.checks import draw
from ..live.gold import use_of
from ..problems import Problem
from .manage import set_gold

# Largest number of tasks that are queued at once.
MOST = 5_000


def ask(batch: WriteBatch, n: int, by: str | None = None) -> dict[str, int]:
    """Put n random labelled tasks without gold into the queue; return the progress."""
    live = batch.live
    _only_measured(batch)
    if not 1 <= n <= MOST:
        raise Problem(422, f"1 to {MOST:,} tasks can be put into the check queue at once, got {n}")
    free = live.session.model.answer_lists.n[: len(live.crowd.tasks)] > 0
    free[[*live.gold, *live.checks.queue]] = False
    if not free.any():
        raise Problem(409, "there is no labelled task left to check; ask again when more answers have come")
    seed = secrets.randbits(48) if live.checks.seed is None else live.checks.seed
    tasks = draw(seed, free, n)
    batch.enter("check", payload={"n": n, "seed": seed, "tasks": tasks})
    batch.note(by, "check", asked=n, drawn=len(tasks), seed=seed)
    return live.checks.progress


def waiting(batch: WriteBatch, n: int, after: int = 0) -> dict[str, Any]:
    """The next n tasks of the queue with their payloads, and the progress; the first `after` tasks are passed over."""
    _only_measured(batch)
    live = batch.live
    codes = live.checks.waiting[after : after + n]
    shown = batch.payloads(codes)
    tasks = [{"id": live.crowd.tasks[code], "payload": shown[code]} for code in codes]
    return {"tasks": tasks, "progress": live.checks.progress}


def answer(batch: WriteBatch, name: str, given: Any, by: str | None = None) -> dict[str, Any]:
    """Set the gold of a task of the queue; a repeated answer changes nothing, null removes it."""
    _only_measured(batch)
    live, task = batch.live, batch.task(name)
    if task not in live.checks.queue:
        raise Problem(409, f"task {name[:80]!r} is not in the check queue; ask for the next one")
    if given is not None:
        given = live.kind.check(given, batch.payloads([task])[task] if live.kind.looks else {})
    if live.gold.get(task) != given:
        set_gold(batch, name, given, by)
    return {"task": name, "answer": given, "progress": live.checks.progress}


def _only_measured(batch: WriteBatch) -> None:
    kind = batch.live.config.kind
    if why := use_of(kind).unmeasured:
        raise Problem(409, f"answers of kind {kind} have no check queue: {why}")
