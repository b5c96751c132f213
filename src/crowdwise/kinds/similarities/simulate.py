"""Simulated crowds that decide whether two items are the same.

>>> from crowdwise.kinds.similarities.simulate import pair_crowd
>>> crowd = pair_crowd(100, 20, random=0.2, seed=1)
>>> len(crowd.same), sorted(set(crowd.kind))
(500, ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8
from ...core.votes import Votes
from ...simulate.draws import draw_kinds, draw_pairs, draw_rows, numbered
from ...simulate.planted import Planted, Size, answer_columns, scenarios, worker_columns
from .answers import Similarities, similarity_votes


@dataclass(frozen=True, eq=False)
class SameCrowd:
    """The answers of a simulated crowd and the parameters behind them.

    cluster[item] is the true cluster; hit[worker] and rejection[worker] are the probabilities of answering "same" for
    items of one cluster and "different" for items of two. `kind` is honest, random, constant or adversarial.
    """

    task: I8
    worker: I8
    left: I8
    right: I8
    same: npt.NDArray[np.int8]
    cluster: I8
    hit: F8
    rejection: F8
    kind: list[str]


def pair_crowd(
    tasks: int = 1000,
    workers: int = 40,
    *,
    clusters: int = 4,
    items: int | None = None,
    per_task: int = 5,
    coins: tuple[float, float] = (0.7, 0.95),
    random: float = 0.0,
    constant: float = 0.0,
    adversarial: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> SameCrowd:
    """Draw a crowd that decides whether two items are the same. The first pairs form a ring that connects all items.

    Args:
        tasks: Number of pairs.
        workers: Number of workers.
        clusters: Number of clusters.
        items: Number of items (None: an eighth of the number of pairs).
        per_task: Number of different workers of each pair.
        coins: Range of the workers' probabilities of a right answer.
        random: Share of workers who toss a coin.
        constant: Share of workers who always answer "same".
        adversarial: Share of workers who answer the opposite.
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    n = max(3, tasks // 8) if items is None else items
    cluster = rng.permutation(np.arange(n) % clusters)
    left, right = draw_pairs(n, tasks, rng)
    kind = draw_kinds(workers, {"random": random, "constant": constant, "adversarial": adversarial}, rng)
    kinds = np.array(kind)
    hit, rejection = rng.uniform(*coins, workers), rng.uniform(*coins, workers)
    for name, p_hit, p_rejection in (("random", 0.5, 0.5), ("constant", 1.0, 0.0)):
        hit, rejection = np.where(kinds == name, p_hit, hit), np.where(kinds == name, p_rejection, rejection)
    hit, rejection = (np.where(kinds == "adversarial", 1 - coin, coin) for coin in (hit, rejection))
    task, worker = draw_rows(tasks, workers, per_task, rng)
    is_same = cluster[left[task]] == cluster[right[task]]
    same = rng.random(len(task)) < np.where(is_same, hit[worker], 1 - rejection[worker])
    return SameCrowd(task, worker, left[task], right[task], same.astype(np.int8), cluster, hit, rejection, kind)


class PlantedSimilarities(Planted[Votes[Similarities]]):
    """Simulated same-or-different answers with their ground truth. `truth` is the cluster of each item.

    >>> from crowdwise import simulate
    >>> simulate.scenario("similarities_random", tasks=40, workers=10, seed=1)
    PlantedSimilarities(honest, random: Votes(200 pairs, 40 tasks, 10 workers))
    """

    def __init__(self, planted: SameCrowd) -> None:
        tasks, workers = numbered("t", int(planted.task.max()) + 1), numbered("w", len(planted.kind))
        self.items = numbered("i", len(planted.cluster))
        votes = similarity_votes(
            self.items.gather(planted.left),
            self.items.gather(planted.right),
            planted.same,
            items=self.items,
            **answer_columns(planted, tasks, workers),
        )
        coins = {"hit": np.round(planted.hit, 4), "rejection": np.round(planted.rejection, 4)}
        super().__init__(
            votes,
            pl.DataFrame({"item": self.items, "cluster": [f"c{c}" for c in planted.cluster.tolist()]}),
            worker_columns(workers, planted.kind, **coins),
            planted,
        )

    @property
    def truth(self) -> I8:
        """The true cluster of each item."""
        cluster: I8 = self.planted.cluster
        return cluster


def _draw(size: Size, **options: Any) -> PlantedSimilarities:
    if size.classes is not None:
        options["clusters"] = size.classes
    return PlantedSimilarities(pair_crowd(size.tasks, size.workers, per_task=size.labels, seed=size.seed, **options))


SIMILARITY_SCENARIOS = scenarios(
    "similarities",
    _draw,
    {
        "similarities_plain": ("same or different? pairs of items of four clusters, two coins per worker", {}),
        "similarities_random": ("same or different; a fifth of the workers toss a coin", {"random": 0.2}),
        "similarities_constant": (
            'same or different; a fifth of the workers always answer "same"', {"constant": 0.2}
        ),
        "similarities_adversarial": (
            "same or different; a tenth of the workers answer the opposite", {"adversarial": 0.1}
        ),
    },
    takes=("classes",),
)  # fmt: skip
