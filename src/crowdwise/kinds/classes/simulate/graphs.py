"""Simulated crowds whose tasks have links, some of which join tasks of the same class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ....core.arrays import F8, I4
from ....simulate.draws import draw_workers, numbered
from ....simulate.planted import Planted, Size, scenarios, worker_columns
from ..annotations import Annotations


@dataclass(frozen=True, eq=False)
class LinkedCrowd:
    """The labels of a simulated crowd, sorted by task and worker, links (one, two) and the parameters behind them."""

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
    """Draw a crowd that labels tasks with links; wrong labels are spread evenly.

    Args:
        tasks: Number of tasks.
        workers: Number of workers.
        classes: Number of classes.
        per_task: Number of different workers of each task.
        links: Mean number of links of a task.
        inside: Share of links that lead to a task of the same class.
        accuracy: Range of the workers' accuracies.
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=tasks)
    n = round(tasks * links / 2)
    one = rng.integers(tasks, size=n)
    shift = np.where(rng.random(n) < inside, 0, rng.integers(1, max(classes, 2), size=n))
    other_class = (truth[one] + shift) % classes
    order = np.argsort(truth, kind="stable")
    begin = np.searchsorted(truth[order], np.arange(classes + 1))
    size = np.diff(begin)[other_class]
    two = order[begin[other_class] + (rng.random(n) * size).astype(np.int64).clip(0, np.maximum(size - 1, 0))]
    keep = (size > 0) & (one != two)
    skill = rng.uniform(*accuracy, workers)
    worker = draw_workers(tasks, workers, per_task, rng).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    wrong = (truth[task] + rng.integers(1, max(classes, 2), size=len(task))) % classes
    label = np.where(rng.random(len(task)) < skill[worker], truth[task], wrong)
    columns = {"task": task, "worker": worker, "label": label, "truth": truth, "one": one[keep], "two": two[keep]}
    return LinkedCrowd(**{name: column.astype(np.int32) for name, column in columns.items()}, accuracy=skill)


class PlantedLinks(Planted[Annotations]):
    """Simulated labels of tasks with links, with their ground truth. `truth` is the class of each task, as a code.

    Args:
        n_classes: Number of classes.

    >>> from crowdwise import simulate
    >>> simulate.scenario("linked_plain", tasks=20, workers=10, labels=2, seed=1)
    PlantedLinks(Annotations(40 annotations, 20 tasks, 10 workers, 4 classes))
    """

    def __init__(self, planted: LinkedCrowd, n_classes: int) -> None:
        tasks, workers = numbered("t", len(planted.truth)), numbered("w", len(planted.accuracy))
        classes = numbered("c", n_classes)
        self._links = pl.DataFrame({"task": tasks.gather(planted.one), "other": tasks.gather(planted.two)})
        votes = Annotations.from_arrays(
            tasks.gather(planted.task),
            workers.gather(planted.worker),
            classes.gather(planted.label),
            tasks=tasks,
            workers=workers,
            classes=classes,
        )
        super().__init__(
            votes.linked(self._links),
            pl.DataFrame({"task": tasks, "label": classes.gather(planted.truth)}),
            worker_columns(workers, ["one_coin"] * len(workers), accuracy=planted.accuracy),
            planted,
        )

    def __repr__(self) -> str:
        return f"PlantedLinks({self.votes})"

    def link_table(self) -> pl.DataFrame:
        """Table of the links: task, other."""
        return self._links

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables that `save` writes, by file name."""
        tables = {"labels.csv": self.votes.to_frame(), "links.csv": self._links}
        return tables | {"truth.csv": self.truth_table(), "workers.csv": self.worker_table()}


def _draw(size: Size, **options: Any) -> PlantedLinks:
    assert size.classes is not None
    crowd = linked_crowd(size.tasks, size.workers, size.classes, per_task=size.labels, seed=size.seed, **options)
    return PlantedLinks(crowd, size.classes)


LINKED_SCENARIOS = scenarios(
    "classes",
    _draw,
    {
        "linked_plain": ("classes; six links per task, three fifths of them within a class", {}),
        "linked_loose": ("classes; links hardly better than chance", {"inside": 0.37}),
        "linked_clean": ("classes; nine tenths of the links within a class", {"inside": 0.9}),
    },
    takes=("classes",),
    classes=4,
)
