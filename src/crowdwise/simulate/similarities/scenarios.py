"""Ready-made crowds that say same or different, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from ...kinds.similarities.answers import Similarities, similarity_votes
from .draw import SameCrowd, pair_crowd


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
