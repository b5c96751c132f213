"""Simulated workers at a server: whoever comes answers what they have in hand and takes the next task."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

from ...client.problems import ServerProblem
from ...client.project import Project
from ...client.records import Batch, Stop, Task
from .crowd import Planted


def drive(
    workers: Sequence[Project],
    crowd: Planted,
    *,
    answers: int | None = None,
    pace: float = 0.0,
    seed: int = 0,
    progress: Callable[[int], bool] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[int, str]:
    """Until nobody gets a task, or so many answers; how many, and why it ended.

    `pace`: answers a second of all of them together, 0 for as fast as the server is. `told(n)` is called after each
    answer and ends it by saying True.
    """
    dice = random.Random(seed)
    hands: dict[int, Task | None] = dict.fromkeys(range(len(workers)))
    n, gone = 0, dict[int, str]()
    while answers is None or n < answers:
        here = [at for at in hands if at not in gone]
        if not here:
            return n, next(iter(gone.values()), "nobody is there")
        at = dice.choice(here)
        task = hands[at]
        if task is None:
            batch = workers[at].next()
        else:
            batch = _say(workers[at], task, crowd.answer(task.id, at))
            n += 1
            if pace:
                sleep(1 / pace)
        hands[at] = batch.tasks[0] if batch.tasks else None
        if batch.tasks:
            gone.clear()  # a task came free: others may get one too
        elif batch.stopped is not None and batch.stopped.final:
            return n, batch.stopped.reason
        else:
            gone[at] = batch.stopped.reason if batch.stopped is not None else "no task is left"
            _others(gone, hands, at)
        if task is not None and progress is not None and progress(n):
            return n, "it was enough"
    return n, f"{answers} answers were asked for"


def _others(gone: dict[int, str], hands: dict[int, Task | None], at: int) -> None:
    """Who waits for others is asked again as long as somebody has a task in hand."""
    if any(task is not None for other, task in hands.items() if other != at):
        for other in [worker for worker in gone if worker != at]:
            del gone[other]


def _say(worker: Project, task: Task, answer: str) -> Batch:
    """An answer and the next task; a refusal ends this worker's day."""
    try:
        receipt = worker.answer(task, answer, following=1)
    except ServerProblem as problem:
        if problem.status != 403:
            raise
        return Batch((), Stop(str(problem)))
    return receipt.next if receipt.next is not None else worker.next()
