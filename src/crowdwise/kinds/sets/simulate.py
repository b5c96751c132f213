"""Planted crowds of label sets: arrays, together with everything that is true about them.

>>> from crowdwise.kinds.sets.simulate import set_crowd
>>> crowd = set_crowd(100, 20, 8, per_task=3, random=0.2, seed=1)
>>> crowd.said.shape, sorted(set(crowd.kind))
((300, 8), ['honest', 'random'])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit, logit

from ...core.errors import ParameterError
from ...core.votes import Votes
from .answers import Sets, as_json
from .kind import set_votes

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SetCrowd:
    """What the workers said, sorted by task and worker, and what nobody but a simulator knows.

    An honest worker names a class that is true with chance hits[worker, class], and another with alarms[worker, class].
    offered[task, class] says what could be named (None: everything). `kind` is honest, constant (always the same set),
    random (a set that has nothing to do with the task) or copier; `copies[worker]` is whom they copy (-1: nobody).
    """

    task: I4
    worker: I4
    said: Mask
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
    """Sets of `size` classes on average, some classes more common than others (`uneven`: sd of the logits of rates).

    logit hits = logit `hit` + an effect of the class + one of the worker + one of both, of these standard deviations;
    the same for `alarm`. `offered` is the share of classes on a task's menu; `constant`, `random` and `copier` are
    shares of the workers.
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
    kind = _kinds(workers, {"constant": constant, "random": random, "copier": copier}, rng)
    by = np.array(kind)
    named = np.clip(rate, 0.02, None)
    idle = by == "random"
    hits[idle], alarms[idle] = named, named
    task = np.repeat(np.arange(tasks), per_task)
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    said = rng.random((len(task), classes)) < np.where(truth[task], hits[worker], alarms[worker])
    fixed = np.eye(classes, dtype=bool)[rng.integers(classes, size=workers)]
    said = np.where((by == "constant")[worker][:, None], fixed[worker], said)
    menu = None
    if offered < 1:
        menu = rng.random((tasks, classes)) < offered
        said &= menu[task]
    copies = _copy(by, rng)
    said = _copied(task, worker, said, copies)
    return SetCrowd(task.astype(np.int32), worker.astype(np.int32), said, truth, rate, hits, alarms, kind, copies, menu)


def _kinds(workers: int, shares: dict[str, float], rng: np.random.Generator) -> list[str]:
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    return [kinds[i] for i in rng.permutation(workers)]


def _copy(kind: npt.NDArray[np.str_], rng: np.random.Generator) -> I4:
    """Whom each copier copies: an honest worker each."""
    out = np.full(len(kind), -1, dtype=np.int32)
    honest, copiers = np.flatnonzero(kind == "honest"), np.flatnonzero(kind == "copier")
    if len(honest) and len(copiers):
        out[copiers] = rng.choice(honest, len(copiers), replace=len(copiers) > len(honest))
    return out


def _copied(task: npt.NDArray[np.int64], worker: npt.NDArray[np.int64], said: Mask, copies: I4) -> Mask:
    """Copiers say what their source said where it answered the same task, and their own set elsewhere."""
    if not (copies >= 0).any():
        return said
    n = len(copies)
    key, source = task * n + worker, task * n + copies[worker]
    at = np.minimum(np.searchsorted(key, source), len(key) - 1)
    found = (copies[worker] >= 0) & (key[at] == source)
    return np.where(found[:, None], said[at], said)


# ---------------------------------------------------------------- Planted crowds that answer with label sets

# ----------------------------------------------------------------
# Ready-made crowds of label sets by name: votes, the truth, and who was planted as what.


@dataclass(frozen=True, eq=False, repr=False)
class PlantedSets:
    """What the workers said, and what nobody but a simulator knows: the counterpart of `Crowd` for label sets.

    >>> from crowdwise import simulate
    >>> simulate.scenario("sets_random", tasks=20, workers=10, classes=6, seed=1)
    PlantedSets(honest, random: Votes(100 label sets, 20 tasks, 10 workers))
    """

    planted: SetCrowd

    def __repr__(self) -> str:
        return f"PlantedSets({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @cached_property
    def votes(self) -> Votes[Sets]:
        """What the workers said."""
        tasks, workers, classes = (
            pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])
            for mark, n in zip("twc", (len(self.truth), len(self.kind), self.truth.shape[1]), strict=True)
        )
        offered = None
        if self.planted.offered is not None:
            offered = _lists(self.planted.offered[self.planted.task], classes)
        return set_votes(
            tasks.gather(self.planted.task),
            workers.gather(self.planted.worker),
            _lists(self.planted.said, classes),
            offered=offered,
            classes=classes,
            tasks=tasks,
            workers=workers,
        )

    @property
    def annotations(self) -> Votes[Sets]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def truth(self) -> Any:
        """truth[task, class]."""
        return self.planted.truth

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, constant, random or copier."""
        return self.planted.kind

    @property
    def copies(self) -> list[str | None]:
        """Whom each worker copies."""
        names = self.votes.workers.to_list()
        return [names[at] if at >= 0 else None for at in self.planted.copies.tolist()]

    def truth_table(self) -> pl.DataFrame:
        """The table task, labels."""
        return pl.DataFrame({"task": self.votes.tasks, "labels": _lists(self.truth, self.votes.answers.classes)})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, copies, and their mean hits and alarms."""
        return pl.DataFrame(
            {
                "worker": self.votes.workers,
                "kind": pl.Series(self.kind, dtype=pl.String),
                "copies": pl.Series(self.copies, dtype=pl.String),
                "hits": self.planted.hits.mean(axis=1),
                "alarms": self.planted.alarms.mean(axis=1),
            }
        )

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written."""
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


def _lists(member: Any, classes: pl.Series) -> pl.Series:
    row, code = np.nonzero(member)
    return as_json(np.searchsorted(row, np.arange(len(member) + 1)), code.astype(np.int32), classes, "labels")


@dataclass(frozen=True)
class SetScenario:
    """A ready-made crowd of label sets: one line about it, and what `set_crowd` is told."""

    description: str
    told: Mapping[str, Any] = field(default_factory=dict)

    def make(
        self,
        n_tasks: int,
        n_workers: int,
        n_classes: int | None,
        labels_per_task: int,
        n_features: int = 0,
        seed: int = 0,
    ) -> PlantedSets:
        """A crowd of this size; of 30 classes unless said."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        if n_features:
            raise ParameterError(f"features={n_features} does not go with label sets; leave it out")
        k = 30 if n_classes is None else n_classes
        return PlantedSets(set_crowd(n_tasks, n_workers, k, per_task=labels_per_task, **self.told, seed=seed))


SET_SCENARIOS: dict[str, SetScenario] = {
    "sets_plain": SetScenario("label sets: classes are missed and workers miss to different degrees"),
    "sets_alike": SetScenario(
        "label sets; all classes and workers alike", {"of_class": 0, "of_worker": 0, "of_both": 0}
    ),
    "sets_random": SetScenario("label sets; a fifth know nothing of the task", {"random": 0.2}),
    "sets_constants": SetScenario("label sets; a fifth always say the same", {"constant": 0.2}),
    "sets_copiers": SetScenario("label sets; a fifth copy an honest worker each", {"copier": 0.2}),
    "sets_menus": SetScenario("label sets; each task offers half of the classes", {"offered": 0.5}),
}
