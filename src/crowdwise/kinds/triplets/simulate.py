"""Simulated crowds that choose which of two items is more similar to a third.

>>> from crowdwise.kinds.triplets.simulate import triplet_crowd
>>> crowd = triplet_crowd(100, 20, random=0.2, seed=1)
>>> len(crowd.side), sorted(set(crowd.kind))
(500, ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8
from ...core.votes import Votes
from ...simulate.draws import draw_kinds, draw_rows, numbered
from ...simulate.planted import Planted, answer_columns, planted_by, scenarios, worker_columns
from .answers import Triplets, triplet_votes


@dataclass(frozen=True, eq=False)
class TripletCrowd:
    """The answers of a simulated crowd and the parameters behind them: place[item, axis] and slope[worker].

    side[row] is 0 for left and 1 for right. `kind` is honest, random, constant or adversarial.
    """

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
    """Draw a crowd that chooses which of two items is more similar to a third.

    Items are normal with standard deviation 1.5 on the first axis and half as much on each further one. A worker
    answers left with log-odds slope x (|head - right|² - |head - left|²).

    Args:
        tasks: Number of triplets.
        workers: Number of workers.
        items: Number of items (None: a twentieth of the number of triplets, 5 to 60).
        dimensions: Number of axes.
        per_task: Number of different workers of each triplet.
        slope: Standard deviation of the logarithm of the workers' slopes.
        random: Share of workers who toss a coin.
        constant: Share of workers who always answer left.
        adversarial: Share of workers who answer the opposite.
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    n = int(np.clip(tasks // 20, 5, 60)) if items is None else items
    place = rng.normal(size=(n, dimensions)) * 1.5 / 2.0 ** np.arange(dimensions)
    three = np.argsort(rng.random((tasks, n)), axis=1)[:, :3]
    kind = draw_kinds(workers, {"random": random, "constant": constant, "adversarial": adversarial}, rng)
    kinds = np.array(kind)
    slopes = np.exp(rng.normal(0.0, slope, workers))
    ignores_items = np.isin(kinds, ["random", "constant"])
    slopes = np.where(kinds == "adversarial", -slopes, np.where(ignores_items, 0.0, slopes))
    task, worker = draw_rows(tasks, workers, per_task, rng)
    swap = rng.random(len(task)) < 0.5
    head = three[task, 0]
    left, right = np.where(swap, three[task, 2], three[task, 1]), np.where(swap, three[task, 1], three[task, 2])
    to_left, to_right = (((place[head] - place[other]) ** 2).sum(axis=1) for other in (left, right))
    odds = slopes[worker] * (to_right - to_left) + np.where(kinds == "constant", 30.0, 0.0)[worker]
    side = (rng.random(len(task)) > 1 / (1 + np.exp(-np.clip(odds, -50, 50)))).astype(np.int8)
    return TripletCrowd(task, worker, head, left, right, side, place, slopes, kind)


class PlantedTriplets(Planted[Votes[Triplets]]):
    """Simulated triplets with their ground truth. `truth` is the place of each item on each axis.

    >>> from crowdwise import simulate
    >>> simulate.scenario("triplets_random", tasks=40, workers=10, seed=1)
    PlantedTriplets(honest, random: Votes(200 triplets, 40 tasks, 10 workers))
    """

    def __init__(self, planted: TripletCrowd) -> None:
        tasks, workers = numbered("t", int(planted.task.max()) + 1), numbered("w", len(planted.kind))
        self.items = numbered("i", len(planted.place))
        votes = triplet_votes(
            self.items.gather(planted.head),
            self.items.gather(planted.left),
            self.items.gather(planted.right),
            pl.Series(["left", "right"]).gather(planted.side.astype(np.int64)),
            items=self.items,
            **answer_columns(planted, tasks, workers),
        )
        super().__init__(
            votes,
            pl.DataFrame({"item": self.items, "score": planted.place[:, 0]}),
            worker_columns(workers, planted.kind, slope=np.round(planted.slope, 4)),
            planted,
        )

    @property
    def truth(self) -> F8:
        """The true place of each item on each axis."""
        place: F8 = self.planted.place
        return place


TRIPLET_SCENARIOS = scenarios(
    "triplets",
    planted_by(triplet_crowd, PlantedTriplets),
    {
        "triplets_plain": ("which of two is more similar to a third? items on a plane, a slope of each worker", {}),
        "triplets_random": ("triplets; a fifth of the workers toss a coin", {"random": 0.2}),
        "triplets_constant": ("triplets; a fifth of the workers always answer left", {"constant": 0.2}),
        "triplets_adversarial": ("triplets; a tenth of the workers answer the opposite", {"adversarial": 0.1}),
    },
)
