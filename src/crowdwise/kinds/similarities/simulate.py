"""Planted crowds that say whether two items are the same, together with everything that is true about them.

>>> from crowdwise.kinds.similarities.simulate import pair_crowd
>>> crowd = pair_crowd(100, 20, random=0.2, seed=1)
>>> len(crowd.same), sorted(set(crowd.kind))
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
from .answers import Similarities, similarity_votes

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SameCrowd:
    """What the workers said, and what nobody but a simulator knows: cluster[item], each worker's coins and kind
    (honest, random, constant, adversarial)."""

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
    """`tasks` pairs of `items` (an eighth as many unless said), the first ones a ring through all of them; coins are
    drawn between the two given; `random`, `constant`, `adversarial` are shares of the workers."""
    rng = np.random.default_rng(seed)
    n = max(3, tasks // 8) if items is None else items
    cluster = rng.permutation(np.arange(n) % clusters)
    ring = rng.permutation(n)
    left = np.concatenate([ring, rng.integers(0, n, max(tasks - n, 0))])[:tasks]
    right = np.concatenate([np.roll(ring, 1), (left[n:] + rng.integers(1, n, max(tasks - n, 0))) % n])[:tasks]
    shares = {"random": random, "constant": constant, "adversarial": adversarial}
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    kind = [kinds[i] for i in rng.permutation(workers)]
    by = np.array(kind)
    hit, rejection = rng.uniform(*coins, workers), rng.uniform(*coins, workers)
    for name, one, two in (("random", 0.5, 0.5), ("constant", 1.0, 0.0)):
        hit, rejection = np.where(by == name, one, hit), np.where(by == name, two, rejection)
    hit, rejection = (np.where(by == "adversarial", 1 - coin, coin) for coin in (hit, rejection))
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    together = cluster[left[task]] == cluster[right[task]]
    says = rng.random(len(task)) < np.where(together, hit[worker], 1 - rejection[worker])
    return SameCrowd(task, worker, left[task], right[task], says.astype(np.int8), cluster, hit, rejection, kind)


# ---------------------------------------------------------------- Ready-made crowds that say same or different, by name


def numbered(mark: str, n: int) -> pl.Series:
    """Names such as t00, t01, ..."""
    return pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)], dtype=pl.String)


@dataclass(frozen=True, eq=False, repr=False)
class PlantedSimilarities:
    """What the workers said, and what nobody but a simulator knows; `planted` holds it as arrays.

    >>> from crowdwise import simulate
    >>> simulate.scenario("similarities_random", tasks=40, workers=10, seed=1)
    PlantedSimilarities(honest, random: Votes(200 pairs, 40 tasks, 10 workers))
    """

    planted: SameCrowd

    def __repr__(self) -> str:
        return f"PlantedSimilarities({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @property
    def items(self) -> pl.Series:
        """The names of the items."""
        return numbered("i", len(self.planted.cluster))

    @cached_property
    def votes(self) -> Votes[Similarities]:
        """What the workers said."""
        crowd, items = self.planted, self.items
        tasks, workers = numbered("t", int(crowd.task.max()) + 1), numbered("w", len(crowd.kind))
        return similarity_votes(
            items.gather(crowd.left), items.gather(crowd.right), crowd.same, task=tasks.gather(crowd.task),
            worker=workers.gather(crowd.worker), tasks=tasks, workers=workers, items=items,
        )  # fmt: skip

    @property
    def annotations(self) -> Votes[Similarities]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, random, constant or adversarial."""
        return self.planted.kind

    def truth_table(self) -> pl.DataFrame:
        """The table item, cluster."""
        return pl.DataFrame({"item": self.items, "cluster": [f"c{c}" for c in self.planted.cluster.tolist()]})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, hit, rejection."""
        coins = {name: np.round(getattr(self.planted, name), 4) for name in ("hit", "rejection")}
        return pl.DataFrame({"worker": self.votes.workers, "kind": pl.Series(self.kind, dtype=pl.String), **coins})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written."""
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class SimilarityScenario:
    """A ready-made crowd: one line about it, and what `pair_crowd` is told."""

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
    ) -> PlantedSimilarities:
        """A crowd of this size; classes are the clusters."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        if n_features:
            raise ParameterError(f"features={n_features} does not go with same or different; leave it out")
        told = {**self.told, **({} if n_classes is None else {"clusters": n_classes})}
        return PlantedSimilarities(pair_crowd(n_tasks, n_workers, per_task=labels_per_task, **told, seed=seed))


SIMILARITY_SCENARIOS: dict[str, SimilarityScenario] = {
    "similarities_plain": SimilarityScenario("same or different? pairs of items of four clusters, two coins a worker"),
    "similarities_random": SimilarityScenario("same or different; a fifth toss a coin", {"random": 0.2}),
    "similarities_constant": SimilarityScenario('same or different; a fifth always say "same"', {"constant": 0.2}),
    "similarities_adversarial": SimilarityScenario(
        "same or different; one in ten says the opposite", {"adversarial": 0.1}
    ),
}
