"""Planted crowds that say which of two items is more like a third, together with everything that is true about them.

>>> from crowdwise.kinds.triplets.simulate import triplet_crowd
>>> crowd = triplet_crowd(100, 20, random=0.2, seed=1)
>>> len(crowd.side), sorted(set(crowd.kind))
(500, ['honest', 'random'])
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

from ...core.errors import ParameterError
from ...core.votes import Votes
from ..similarities.simulate import numbered
from .answers import Triplets, triplet_votes

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TripletCrowd:
    """What the workers said, and what nobody but a simulator knows: place[item, axis], each worker's slope and kind
    (honest, random, constant, adversarial)."""

    task: I8
    worker: I8
    head: I8
    left: I8
    right: I8
    side: npt.NDArray[np.int8]
    place: F8
    slope: F8
    kind: list[str]


def triplet_crowd(
    tasks: int = 1000,
    workers: int = 40,
    *,
    items: int | None = None,
    dimensions: int = 2,
    per_task: int = 5,
    slope: float = 0.25,
    random: float = 0.0,
    constant: float = 0.0,
    adversarial: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> TripletCrowd:
    """Items ~ N(0, 1.5²) on the first axis and half as wide on each further one; a worker says left with log-odds slope
    x (|head - right|² - |head - left|²). `random`, `constant`, `adversarial` are shares of the workers."""
    rng = np.random.default_rng(seed)
    n = int(np.clip(tasks // 20, 5, 60)) if items is None else items
    place = rng.normal(size=(n, dimensions)) * 1.5 / 2.0 ** np.arange(dimensions)
    three = np.argsort(rng.random((tasks, n)), axis=1)[:, :3]
    shares = {"random": random, "constant": constant, "adversarial": adversarial}
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    kind = [kinds[i] for i in rng.permutation(workers)]
    by = np.array(kind)
    slopes = np.exp(rng.normal(0.0, slope, workers))
    slopes = np.where(by == "adversarial", -slopes, np.where(np.isin(by, ["random", "constant"]), 0.0, slopes))
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    turned = rng.random(len(task)) < 0.5
    head = three[task, 0]
    left, right = np.where(turned, three[task, 2], three[task, 1]), np.where(turned, three[task, 1], three[task, 2])
    a, b = (((place[head] - place[other]) ** 2).sum(axis=1) for other in (left, right))
    odds = slopes[worker] * (b - a) + np.where(by == "constant", 30.0, 0.0)[worker]
    side = (rng.random(len(task)) > 1 / (1 + np.exp(-np.clip(odds, -50, 50)))).astype(np.int8)
    return TripletCrowd(task, worker, head, left, right, side, place, slopes, kind)


# ---------------------------------------------------------------- Ready-made crowds that judge triplets, by name


@dataclass(frozen=True, eq=False, repr=False)
class PlantedTriplets:
    """What the workers said, and what nobody but a simulator knows; `planted` holds it as arrays.

    >>> from crowdwise import simulate
    >>> simulate.scenario("triplets_random", tasks=40, workers=10, seed=1)
    PlantedTriplets(honest, random: Votes(200 triplets, 40 tasks, 10 workers))
    """

    planted: TripletCrowd

    def __repr__(self) -> str:
        return f"PlantedTriplets({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @property
    def items(self) -> pl.Series:
        """The names of the items."""
        return numbered("i", len(self.planted.place))

    @cached_property
    def votes(self) -> Votes[Triplets]:
        """What the workers said."""
        crowd, items = self.planted, self.items
        tasks, workers = numbered("t", int(crowd.task.max()) + 1), numbered("w", len(crowd.kind))
        head, left, right = (items.gather(each) for each in (crowd.head, crowd.left, crowd.right))
        said = pl.Series(["left", "right"]).gather(crowd.side.astype(np.int64))
        return triplet_votes(
            head, left, right, said, task=tasks.gather(crowd.task), worker=workers.gather(crowd.worker), tasks=tasks,
            workers=workers, items=items,
        )  # fmt: skip

    @property
    def annotations(self) -> Votes[Triplets]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, random, constant or adversarial."""
        return self.planted.kind

    def truth_table(self) -> pl.DataFrame:
        """The table item, score: its place on the first axis."""
        return pl.DataFrame({"item": self.items, "score": self.planted.place[:, 0]})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, slope."""
        kind = pl.Series(self.kind, dtype=pl.String)
        return pl.DataFrame({"worker": self.votes.workers, "kind": kind, "slope": np.round(self.planted.slope, 4)})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written."""
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class TripletScenario:
    """A ready-made crowd: one line about it, and what `triplet_crowd` is told."""

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
    ) -> PlantedTriplets:
        """A crowd of this size."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        for name, given in (("classes", n_classes), ("features", n_features)):
            if given:
                raise ParameterError(f"{name}={given} does not go with triplets; leave it out")
        return PlantedTriplets(triplet_crowd(n_tasks, n_workers, per_task=labels_per_task, **self.told, seed=seed))


TRIPLET_SCENARIOS: dict[str, TripletScenario] = {
    "triplets_plain": TripletScenario("which of two is more like a third? items on a plane, a slope of each worker"),
    "triplets_random": TripletScenario("triplets; a fifth toss a coin", {"random": 0.2}),
    "triplets_constant": TripletScenario("triplets; a fifth always say left", {"constant": 0.2}),
    "triplets_adversarial": TripletScenario("triplets; one in ten says the opposite", {"adversarial": 0.1}),
}
