"""Planted crowds that rank lists of items.

>>> from crowdwise.kinds.rankings.simulate import ranking_crowd
>>> crowd = ranking_crowd(40, 20, per_task=6, random=0.3, seed=1)
>>> len(crowd.order), sorted(set(crowd.kind))
(240, ['honest', 'random'])
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
from ..comparisons.simulate import numbered
from .answers import Rankings
from .kind import ranking_votes

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RankCrowd:
    """order[row]: items of the task, best first; score[task, item]: higher is better; heat[worker]: how sharply they
    see the scores (0: guess, below 0: upside down). `kind` is honest, random or reversed."""

    task: I4
    worker: I4
    order: list[list[int]]
    score: F8
    heat: F8
    kind: list[str]


def ranking_crowd(
    tasks: int = 40,
    workers: int = 20,
    *,
    items: int = 8,
    per_task: int = 6,
    scale: float = 1.0,
    heat: float = 0.3,
    random: float = 0.0,
    reversed: float = 0.0,
    top: int | None = None,
    seed: int | np.random.Generator = 0,
) -> RankCrowd:
    """Scores ~ N(0, scale²); a ranking is drawn from Plackett and Luce's model with the worker's heat, whose logarithm
    is spread by `heat`. `random` and `reversed` are shares of the workers; `top`: only so many places are given."""
    rng = np.random.default_rng(seed)
    score = rng.normal(0.0, scale, (tasks, items))
    shares = {"random": random, "reversed": reversed}
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    kind = [kinds[i] for i in rng.permutation(workers)]
    by = np.array(kind)
    heats = 2 * np.exp(rng.normal(0.0, heat, workers))
    heats = np.where(by == "random", 0.0, np.where(by == "reversed", -heats, heats))
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    noise = rng.gumbel(size=(len(task), items))
    order = np.argsort(-(heats[worker][:, None] * score[task] + noise), axis=1)[:, :top]
    return RankCrowd(task.astype(np.int32), worker.astype(np.int32), order.tolist(), score, heats, kind)


# ----------------------------------------------------------------
# Ready-made crowds that rank, by name: votes, the true orders, and who was planted as what.


@dataclass(frozen=True, eq=False, repr=False)
class PlantedRankings:
    """What the workers said, and what nobody but a simulator knows; `planted` holds it as arrays.

    Items are named so that their names do not tell the order.

    >>> from crowdwise import simulate
    >>> simulate.scenario("rankings_mixed", tasks=10, workers=10, labels=4, seed=1)
    PlantedRankings(honest, random, reversed: Votes(40 rankings, 10 tasks, 10 workers))
    """

    planted: RankCrowd
    rest: bool = False

    def __repr__(self) -> str:
        return f"PlantedRankings({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @cached_property
    def votes(self) -> Votes[Rankings]:
        """What the workers said."""
        crowd = self.planted
        tasks, workers = numbered("t", len(crowd.score)), numbered("w", len(crowd.kind))
        names = numbered("i", crowd.score.shape[1]).to_list()
        end = ">..." if self.rest else ""
        said = [">".join(names[i] for i in order) + end for order in crowd.order]
        return ranking_votes(tasks.gather(crowd.task), workers.gather(crowd.worker), said, tasks=tasks, workers=workers)

    @property
    def annotations(self) -> Votes[Rankings]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def truth(self) -> Any:
        """The score of each item of each task."""
        return self.planted.score

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, random or reversed."""
        return self.planted.kind

    def truth_table(self) -> pl.DataFrame:
        """The table task, ranking."""
        names = numbered("i", self.truth.shape[1]).to_list()
        orders = np.argsort(-self.truth, axis=1)
        said = [">".join(names[i] for i in order) for order in orders]
        return pl.DataFrame({"task": self.votes.tasks, "ranking": said})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, heat."""
        columns: dict[str, Any] = {"worker": self.votes.workers, "kind": pl.Series(self.kind, dtype=pl.String)}
        return pl.DataFrame(columns | {"heat": self.planted.heat})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written."""
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class RankingScenario:
    """A ready-made crowd: one line about it, and what `ranking_crowd` is told."""

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
    ) -> PlantedRankings:
        """A crowd of this size; a task is a list of eight items."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        for name, given in (("classes", n_classes), ("features", n_features)):
            if given:
                raise ParameterError(f"{name}={given} does not go with rankings; leave it out")
        crowd = ranking_crowd(n_tasks, n_workers, per_task=labels_per_task, **self.told, seed=seed)
        return PlantedRankings(crowd, rest="top" in self.told)


RANKING_SCENARIOS: dict[str, RankingScenario] = {
    "rankings_plain": RankingScenario("lists of eight items, ranked whole"),
    "rankings_top": RankingScenario("lists of eight items, of which only the first three places are given", {"top": 3}),
    "rankings_random": RankingScenario("rankings; a third shuffle the items", {"random": 1 / 3}),
    "rankings_reversed": RankingScenario("rankings; a fifth put the worst first", {"reversed": 0.2}),
    "rankings_mixed": RankingScenario(
        "rankings; three in ten shuffle the items, one in ten puts the worst first", {"random": 0.3, "reversed": 0.1}
    ),
}
