"""Simulated workers of a server: a random worker answers their assigned task and takes the next one."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

from ...client.problems import ServerProblem
from ...client.project import Project
from ...client.records import Batch, Stop, Task
from .crowd import SimulatedCrowd


def drive(
    workers: Sequence[Project],
    crowd: SimulatedCrowd,
    *,
    answers: int | None = None,
    pace: float = 0.0,
    seed: int = 0,
    progress: Callable[[int], bool] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[int, str]:
    """Answer until no worker gets a task, or `answers` are given; return their number and the reason for the end.

    `pace` is the number of answers per second of all workers together (0: no limit). `progress(n)` is called after each
    answer and ends the simulation by returning True.
    """
    dice = random.Random(seed)
    assigned: dict[int, Task | None] = dict.fromkeys(range(len(workers)))
    n, gone = 0, dict[int, str]()
    while answers is None or n < answers:
        here = [at for at in assigned if at not in gone]
        if not here:
            return n, next(iter(gone.values()), "there is no worker")
        at = dice.choice(here)
        task = assigned[at]
        if task is None:
            batch = workers[at].next()
        else:
            batch = _answer(workers[at], task, crowd.answer(task.id, at))
            n += 1
            if pace:
                sleep(1 / pace)
        assigned[at] = batch.tasks[0] if batch.tasks else None
        if batch.tasks:
            gone.clear()  # a task was released: others may get one too
        elif batch.stopped is not None and batch.stopped.final:
            return n, batch.stopped.reason
        else:
            gone[at] = batch.stopped.reason if batch.stopped is not None else "no task is left"
            _retry_others(gone, assigned, at)
        if task is not None and progress is not None and progress(n):
            return n, "it was enough"
    return n, f"{answers} answers were asked for"


def _retry_others(gone: dict[int, str], assigned: dict[int, Task | None], at: int) -> None:
    """Let waiting workers ask again as long as another one has a task."""
    if any(task is not None for other, task in assigned.items() if other != at):
        for other in [worker for worker in gone if worker != at]:
            del gone[other]


def _answer(worker: Project, task: Task, answer: str) -> Batch:
    """Answer and take the next task; a refusal (403) ends the work of this worker."""
    try:
        receipt = worker.answer(task, answer, following=1)
    except ServerProblem as problem:
        if problem.status != 403:
            raise
        return Batch((), Stop(str(problem)))
    return receipt.next if receipt.next is not None else worker.next()
