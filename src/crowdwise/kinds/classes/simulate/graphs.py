"""Planted crowds whose tasks have links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import ParameterError
from ..annotations import Annotations

# ----------------------------------------------------------------
# Planted crowds whose tasks have links, of which some join tasks of one class.

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


# ----------------------------------------------------------------
# Ready-made crowds with links by name: votes, links, and the truth.


@dataclass(frozen=True, eq=False, repr=False)
class PlantedLinks:
    """What the workers said of tasks with links, and what nobody but a simulator knows.

    >>> from crowdwise import simulate
    >>> simulate.scenario("linked_plain", tasks=20, workers=10, labels=2, seed=1)
    PlantedLinks(Annotations(40 annotations, 20 tasks, 10 workers, 4 classes))
    """

    planted: LinkedCrowd
    n_classes: int

    def __repr__(self) -> str:
        return f"PlantedLinks({self.annotations})"

    @cached_property
    def annotations(self) -> Annotations:
        """What the workers said, with the links."""
        tasks, workers, classes = self.names
        found = Annotations.from_arrays(
            tasks.gather(self.planted.task),
            workers.gather(self.planted.worker),
            classes.gather(self.planted.label),
            tasks=tasks,
            workers=workers,
            classes=classes,
        )
        return found.linked(self.link_table())

    @property
    def names(self) -> tuple[pl.Series, pl.Series, pl.Series]:
        """Of tasks, workers and classes."""
        sizes = (len(self.planted.truth), len(self.planted.accuracy), self.n_classes)
        tasks, workers, classes = (
            pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])
            for mark, n in zip("twc", sizes, strict=True)
        )
        return tasks, workers, classes

    @property
    def votes(self) -> Annotations:
        """The annotations, by the name that they have in other kinds."""
        return self.annotations

    @property
    def truth(self) -> Any:
        """The true class of each task, as a code."""
        return self.planted.truth

    @property
    def kind(self) -> list[str]:
        """All workers try."""
        return ["one_coin"] * len(self.planted.accuracy)

    def link_table(self) -> pl.DataFrame:
        """The table task, other."""
        tasks = self.names[0]
        return pl.DataFrame({"task": tasks.gather(self.planted.one), "other": tasks.gather(self.planted.two)})

    def truth_table(self) -> pl.DataFrame:
        """The table task, label."""
        return pl.DataFrame({"task": self.names[0], "label": self.names[2].gather(self.truth)})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, accuracy."""
        kind = pl.Series(self.kind, dtype=pl.String)
        return pl.DataFrame({"worker": self.names[1], "kind": kind, "accuracy": self.planted.accuracy})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write labels.csv, links.csv, truth.csv and workers.csv; returns the names written."""
        from ....io.csv.folder import write_tables

        tables = {"labels.csv": self.annotations.to_frame(), "links.csv": self.link_table()}
        tables |= {"truth.csv": self.truth_table(), "workers.csv": self.worker_table()}
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class LinkedScenario:
    """A ready-made crowd with links: one line about it, and what `linked_crowd` is told."""

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
    ) -> PlantedLinks:
        """A crowd of this size; of four classes unless said."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        if n_features:
            raise ParameterError(f"features={n_features} does not go with links; leave it out")
        k = 4 if n_classes is None else n_classes
        return PlantedLinks(linked_crowd(n_tasks, n_workers, k, per_task=labels_per_task, **self.told, seed=seed), k)


LINKED_SCENARIOS: dict[str, LinkedScenario] = {
    "linked_plain": LinkedScenario("classes; six links a task, three in five of them within a class"),
    "linked_loose": LinkedScenario("classes; links that are little better than chance", {"inside": 0.37}),
    "linked_clean": LinkedScenario("classes; nine links in ten within a class", {"inside": 0.9}),
}
