"""Draw a crowd: tasks, workers, who is asked what, and then what each of them says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import polars as pl

from ..core.errors import ParameterError
from ..core.ledger import Ledger
from ..core.params import Count, NonNegative, Share, Whole, check_given
from ..core.rules import AtLeast
from ..core.vocabulary import Codes, as_series, sorted_vocabulary
from ..kinds.classes.annotations import Annotations
from .assignment import Assignment, Pairs
from .groups import F8, Group, Setting
from .planted import Crowd
from .roster import Roster, enrol
from .world import World, given_features, make_features, make_world, wrong_class


def crowd(
    n_tasks: Count,
    n_classes: Annotated[int, AtLeast(2)],
    groups: Sequence[Group],
    assignment: Assignment,
    *,
    class_prior: Any = None,
    hard_share: Share = 0.0,
    hard_pull: Share = 0.8,
    n_features: Whole = 0,
    separation: NonNegative = 2.0,
    truth: Any = None,
    features: Any = None,
    classes: Any = None,
    seed: Whole = 0,
) -> Crowd:
    """A planted crowd; same arguments, same rows.

    `truth` (class numbers) and `features` may come from existing data, such as scikit-learn's digits; else classes
    are drawn from `class_prior` (default: all alike) and, with `n_features`, features from Gaussian clusters whose
    centres are `separation` standard deviations apart. A share `hard_share` of the tasks is hard: each has one wrong
    class that every worker says with probability `hard_pull`, whatever they would have said; only the agreed answer of
    a ring and the answer that a copier takes over stay as they are. `classes` names the classes, in sorted order.

    >>> from crowdwise.simulate import OneCoin, PerTask, crowd
    >>> crowd(100, 3, [OneCoin(10, low=0.6, high=0.9)], PerTask(4), seed=7).annotations
    Annotations(400 annotations, 100 tasks, 10 workers, 3 classes)
    """
    hardness = {"hard_share": hard_share, "hard_pull": hard_pull}
    looks = {"n_features": n_features, "separation": separation}
    check_given(crowd, {"n_tasks": n_tasks, "n_classes": n_classes, **hardness, **looks, "seed": seed})
    names = _class_names(classes, n_classes)
    rng = np.random.default_rng(seed)
    world = make_world(n_tasks, n_classes, rng, class_prior=class_prior, truth=truth, **hardness)
    if features is None:
        x = make_features(world.truth, n_classes, n_features, separation, rng)
    else:
        x = given_features(features, n_tasks)
    roster = enrol(groups, Setting(n_classes, world.class_prior, rng))
    pairs = assignment.draw(n_tasks, roster.n_workers, rng)
    label = answers(world, roster, pairs, rng)
    workers = _ids("worker", roster.n_workers)
    return Crowd(
        annotations=Annotations(*pairs, label, _ids("task", n_tasks), workers, names, ledger=_ledger(label)),
        truth=world.truth,
        class_prior=world.class_prior,
        confusion=roster.marginal,
        kind=roster.kind,
        copies=[None if whom is None else workers[whom] for whom in roster.source],
        hard=world.hard,
        features=x,
    )


def answers(world: World, roster: Roster, pairs: Pairs, rng: np.random.Generator) -> Codes:
    """The label of every pair: first what each worker would say alone, then the rings, then the copiers."""
    task, worker = pairs
    label = world.mislead(task, said(roster.own, worker, world.truth[task], rng), rng)
    for ring, lo, hi in roster.rings:
        agreed = wrong_class(world.truth, roster.own.shape[1], rng)
        rows = np.flatnonzero((worker >= lo) & (worker < hi))
        rows = rows[rng.random(len(rows)) < ring.p_corr]
        label[rows] = agreed[task[rows]]
    heard: dict[int, Codes] = {}
    for copier, lo, hi, whom in roster.copiers:
        if whom not in heard:
            heard[whom] = _every_answer(whom, world, roster, pairs, label, rng)
        rows = np.flatnonzero((worker >= lo) & (worker < hi))
        rows = rows[rng.random(len(rows)) < copier.fidelity]
        label[rows] = heard[whom][task[rows]]
    return label


def said(confusion: F8, worker: Codes, truth: Codes, rng: np.random.Generator) -> Codes:
    """One draw from the row confusion[worker, truth] for each pair."""
    k = confusion.shape[2]
    edges = np.cumsum(confusion, axis=2).reshape(-1, k).T.copy()  # observed, (worker, true)
    row = worker.astype(np.int64) * k + truth
    dice = rng.random(len(worker))
    label = np.zeros(len(worker), dtype=np.int32)
    for edge in edges[:-1]:
        label += dice >= edge[row]
    return label


def _every_answer(
    whom: int, world: World, roster: Roster, pairs: Pairs, label: Codes, rng: np.random.Generator
) -> Codes:
    """What a worker said of every task, or would have said if asked."""
    task, worker = pairs
    every = np.arange(len(world.truth), dtype=np.int32)
    out = world.mislead(every, said(roster.own[whom : whom + 1], np.zeros_like(every), world.truth, rng), rng)
    rows = np.flatnonzero(worker == whom)
    out[task[rows]] = label[rows]
    return out


def _ids(name: str, n: int) -> pl.Series:
    """t0000, t0001, ...: padded, so that the sorted order of names is the order of numbers."""
    number = pl.int_range(n, eager=True).cast(pl.String).str.zfill(len(str(n - 1)))
    return (name[0] + number).rename(name)


def _class_names(classes: Any, n_classes: int) -> pl.Series:
    if classes is None:
        return pl.int_range(n_classes, eager=True).cast(pl.String).str.zfill(len(str(n_classes - 1))).rename("label")
    given = as_series(classes, "label")
    names = sorted_vocabulary(given, "label")
    if len(names) != n_classes or len(given) != n_classes:
        raise ParameterError(f"classes must hold {n_classes} different names, got {given.to_list()}")
    if given.to_list() != names.to_list():
        # Codes are places in a sorted vocabulary: another order would rename truth and prior behind the user's back.
        raise ParameterError(f"classes must be in sorted order, as {names.to_list()}, got {given.to_list()}")
    return names


def _ledger(label: Codes) -> Ledger:
    return Ledger(rows_in=len(label), rows_used=len(label))
