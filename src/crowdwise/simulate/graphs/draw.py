"""Planted crowds whose tasks have links, of which some join tasks of one class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class LinkedCrowd:
    """Labels sorted by task and worker, links (one, two), and what nobody but a simulator knows."""

    task: I4
    worker: I4
    label: I4
    truth: I4
    one: I4
    two: I4
    accuracy: F8


def linked_crowd(
    tasks: int = 1000,
    workers: int = 30,
    classes: int = 4,
    *,
    per_task: int = 2,
    links: float = 6.0,
    inside: float = 0.6,
    accuracy: tuple[float, float] = (0.3, 0.75),
    seed: int | np.random.Generator = 0,
) -> LinkedCrowd:
    """Every task has `links` on average, a share `inside` of which lead to a task of its own class; workers are right
    with a chance between the ends of `accuracy`, and wrong evenly."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=tasks)
    n = round(tasks * links / 2)
    one = rng.integers(tasks, size=n)
    shift = np.where(rng.random(n) < inside, 0, rng.integers(1, max(classes, 2), size=n))
    wanted = (truth[one] + shift) % classes
    order = np.argsort(truth, kind="stable")
    begin = np.searchsorted(truth[order], np.arange(classes + 1))
    size = np.diff(begin)[wanted]
    two = order[begin[wanted] + (rng.random(n) * size).astype(np.int64).clip(0, np.maximum(size - 1, 0))]
    keep = (size > 0) & (one != two)
    skill = rng.uniform(*accuracy, workers)
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    wrong = (truth[task] + rng.integers(1, max(classes, 2), size=len(task))) % classes
    label = np.where(rng.random(len(task)) < skill[worker], truth[task], wrong)
    columns = {"task": task, "worker": worker, "label": label, "truth": truth, "one": one[keep], "two": two[keep]}
    return LinkedCrowd(**{name: each.astype(np.int32) for name, each in columns.items()}, accuracy=skill)
