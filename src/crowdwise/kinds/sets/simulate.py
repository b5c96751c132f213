"""Simulated crowds that answer with sets of labels.

>>> from crowdwise.kinds.sets.simulate import set_crowd
>>> crowd = set_crowd(100, 20, 8, per_task=3, random=0.2, seed=1)
>>> crowd.labels.shape, sorted(set(crowd.kind))
((300, 8), ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import expit, logit

from ...core.arrays import F8, I4, Mask
from ...core.votes import Votes
from ...simulate.draws import copy_answers, draw_kinds, draw_sources, draw_workers, numbered, source_names
from ...simulate.planted import Planted, answer_columns, planted_by, scenarios, worker_columns
from .answers import Sets, as_json, set_votes


@dataclass(frozen=True, eq=False)
class SetCrowd:
    """The answers of a simulated crowd, labels[row, class], sorted by task and worker, and the parameters behind them.

    An honest worker names a true class with probability hits[worker, class] and any other class with probability
    alarms[worker, class]. offered[task, class] marks the classes that a task offers (None: all). `kind` is honest,
    constant (always the same set), random (a set unrelated to the task) or copier; `copies[worker]` is the worker that
    a copier copies (-1: none).
    """

    task: I4
    worker: I4
    labels: Mask
    truth: Mask
    rate: F8
    hits: F8
    alarms: F8
    kind: list[str]
    copies: I4
    offered: Mask | None = None


def set_crowd(
    tasks: int = 500,
    workers: int = 60,
    classes: int = 30,
    *,
    per_task: int = 3,
    size: float = 1.3,
    uneven: float = 0.7,
    hit: float = 0.62,
    alarm: float = 0.015,
    of_class: float = 0.8,
    of_worker: float = 1.0,
    of_both: float = 0.3,
    offered: float = 1.0,
    constant: float = 0.0,
    random: float = 0.0,
    copier: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> SetCrowd:
    """Draw a crowd that answers with sets of labels.

    Args:
        tasks: Number of tasks.
        workers: Number of workers.
        classes: Number of classes.
        per_task: Number of different workers of each task.
        size: Mean size of the true sets.
        uneven: Standard deviation of the logits of the class frequencies.
        hit: Probability of naming a true class, before the effects of class and worker.
        alarm: Probability of naming any other class, before the effects of class and worker.
        of_class: Standard deviation of the effect of the class on both logits.
        of_worker: Standard deviation of the effect of the worker on both logits.
        of_both: Standard deviation of the effect of worker and class together on both logits.
        offered: Share of the classes that a task offers.
        constant: Share of workers with the same set for every task.
        random: Share of workers whose sets do not depend on the task.
        copier: Share of workers who copy an honest worker.
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    rate = expit(rng.normal(logit(min(size / classes, 0.5)), uneven, classes))
    truth = rng.random((tasks, classes)) < rate
    hits, alarms = (
        expit(
            logit(middle)
            + rng.normal(0, of_class, classes)
            + rng.normal(0, of_worker, workers)[:, None]
            + rng.normal(0, of_both, (workers, classes))
        )
        for middle in (hit, alarm)
    )
    kind = draw_kinds(workers, {"constant": constant, "random": random, "copier": copier}, rng)
    kinds = np.array(kind)
    is_random = kinds == "random"
    hits[is_random], alarms[is_random] = np.clip(rate, 0.02, None), np.clip(rate, 0.02, None)
    task = np.repeat(np.arange(tasks), per_task)
    worker = draw_workers(tasks, workers, per_task, rng).ravel()
    labels = rng.random((len(task), classes)) < np.where(truth[task], hits[worker], alarms[worker])
    constant_set = np.eye(classes, dtype=bool)[rng.integers(classes, size=workers)]
    labels = np.where((kinds == "constant")[worker][:, None], constant_set[worker], labels)
    menu = None
    if offered < 1:
        menu = rng.random((tasks, classes)) < offered
        labels &= menu[task]
    copies = draw_sources(kind, rng)
    labels = copy_answers(task, worker, labels, copies)
    return SetCrowd(
        task.astype(np.int32), worker.astype(np.int32), labels, truth, rate, hits, alarms, kind, copies, menu
    )  # fmt: skip


class PlantedSets(Planted[Votes[Sets]]):
    """Simulated label sets with their ground truth, truth[task, class].

    >>> from crowdwise import simulate
    >>> simulate.scenario("sets_random", tasks=20, workers=10, classes=6, seed=1)
    PlantedSets(honest, random: Votes(100 label sets, 20 tasks, 10 workers))
    """

    def __init__(self, planted: SetCrowd) -> None:
        tasks, workers = numbered("t", len(planted.truth)), numbered("w", len(planted.kind))
        classes = numbered("c", planted.truth.shape[1])
        votes = set_votes(
            labels=_as_json(planted.labels, classes),
            offered=None if planted.offered is None else _as_json(planted.offered[planted.task], classes),
            classes=classes,
            **answer_columns(planted, tasks, workers),
        )
        super().__init__(
            votes,
            pl.DataFrame({"task": tasks, "labels": _as_json(planted.truth, votes.answers.classes)}),
            worker_columns(
                workers,
                planted.kind,
                copies=source_names(workers, planted.copies),
                hits=planted.hits.mean(axis=1),
                alarms=planted.alarms.mean(axis=1),
            ),
            planted,
        )


def _as_json(labels: Mask, classes: pl.Series) -> pl.Series:
    row, code = np.nonzero(labels)
    return as_json(np.searchsorted(row, np.arange(len(labels) + 1)), code.astype(np.int32), classes, "labels")


SET_SCENARIOS = scenarios(
    "sets",
    planted_by(set_crowd, PlantedSets),
    {
        "sets_plain": ("label sets; classes and workers differ in how often they are missed", {}),
        "sets_alike": ("label sets; all classes and workers are alike", {"of_class": 0, "of_worker": 0, "of_both": 0}),
        "sets_random": ("label sets; a fifth of the workers answer at random", {"random": 0.2}),
        "sets_constants": ("label sets; a fifth of the workers always give the same answer", {"constant": 0.2}),
        "sets_copiers": ("label sets; a fifth of the workers copy an honest worker", {"copier": 0.2}),
        "sets_menus": ("label sets; each task offers half of the classes", {"offered": 0.5}),
    },
    takes=("classes",),
    classes=30,
)
