"""Planted crowds that compare items, together with everything that is true about them.

>>> from crowdwise.kinds.comparisons.simulate import comparison_crowd
>>> crowd = comparison_crowd(100, 20, per_task=5, random=0.2, seed=1)
>>> len(crowd.outcome), sorted(set(crowd.kind))
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
from .answers import OUTCOMES, Comparisons
from .kind import comparison_votes

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PairCrowd:
    """What the workers said, and what nobody but a simulator knows.

    An honest worker says left, right or tie with log-odds a, -a, tie, where a = (slope (score_left - score_right) +
    position) / 2. `kind` is honest, random (a coin), reversed (slope below 0) or constant (always the left side).
    """

    task: I4
    worker: I4
    left: I4
    right: I4
    outcome: npt.NDArray[np.int8]
    score: F8
    slope: F8
    position: F8
    tie: F8
    kind: list[str]


def comparison_crowd(
    tasks: int = 500,
    workers: int = 50,
    *,
    items: int | None = None,
    per_task: int = 5,
    scale: float = 1.5,
    slope: float = 0.25,
    position: float = 0.2,
    ties: float | None = None,
    random: float = 0.0,
    reversed: float = 0.0,
    constant: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> PairCrowd:
    """Scores ~ N(0, scale²); `tasks` pairs of `items` (an eighth as many, unless said), the first ones a ring that ties
    all items together. `slope` is the spread of the log of slopes, `ties` the mean of a worker's liking for ties (None:
    nobody says so); `random`, `reversed`, `constant` are shares of the workers."""
    rng = np.random.default_rng(seed)
    k = max(3, tasks // 8) if items is None else items
    score = rng.normal(0.0, scale, k)
    ring = rng.permutation(k)
    one = np.concatenate([ring, rng.integers(0, k, max(tasks - k, 0))])[:tasks]
    two = np.concatenate([np.roll(ring, 1), (one[k:] + rng.integers(1, k, max(tasks - k, 0))) % k])[:tasks]
    shares = {"random": random, "reversed": reversed, "constant": constant}
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    kind = [kinds[i] for i in rng.permutation(workers)]
    by = np.array(kind)
    slopes = np.exp(rng.normal(0.0, slope, workers))
    slopes = np.where(by == "reversed", -slopes, np.where(np.isin(by, ["random", "constant"]), 0.0, slopes))
    pull = np.where(by == "constant", 12.0, np.where(by == "random", 0.0, rng.normal(0.0, position, workers)))
    tie = np.full(workers, -np.inf) if ties is None else rng.normal(ties, 0.7, workers)
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    turned = rng.random(len(task)) < 0.5
    left, right = np.where(turned, two[task], one[task]), np.where(turned, one[task], two[task])
    a = (slopes[worker] * (score[left] - score[right]) + pull[worker]) / 2
    odds = np.exp(np.stack([a, -a, tie[worker]], axis=1) - np.abs(a)[:, None])
    edges = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    outcome = np.minimum((rng.random(len(task))[:, None] > edges).sum(axis=1), 2).astype(np.int8)
    t, w, one, two = (x.astype(np.int32) for x in (task, worker, left, right))
    return PairCrowd(t, w, one, two, outcome, score, slopes, pull, tie, kind)


# ----------------------------------------------------------------
# Ready-made crowds that compare items, by name: votes, the items' scores, and who was planted as what.


def numbered(mark: str, n: int) -> pl.Series:
    """Names such as t00, t01, ..."""
    return pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)], dtype=pl.String)


@dataclass(frozen=True, eq=False, repr=False)
class PlantedComparisons:
    """What the workers said, and what nobody but a simulator knows; `planted` holds it as arrays.

    >>> from crowdwise import simulate
    >>> simulate.scenario("comparisons_reversed", tasks=40, workers=10, seed=1)
    PlantedComparisons(honest, reversed: Votes(200 comparisons, 40 tasks, 10 workers))
    """

    planted: PairCrowd

    def __repr__(self) -> str:
        return f"PlantedComparisons({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @property
    def items(self) -> pl.Series:
        """The names of the items, in the order of planted.score."""
        return numbered("i", len(self.planted.score))

    @cached_property
    def votes(self) -> Votes[Comparisons]:
        """What the workers said."""
        crowd, items = self.planted, self.items
        tasks, workers = numbered("t", int(crowd.task.max()) + 1), numbered("w", len(crowd.kind))
        said = pl.Series(OUTCOMES, dtype=pl.String).gather(crowd.outcome.astype("int64"))
        return comparison_votes(
            items.gather(crowd.left), items.gather(crowd.right), said, task=tasks.gather(crowd.task),
            worker=workers.gather(crowd.worker), tasks=tasks, workers=workers, items=items,
        )  # fmt: skip

    @property
    def annotations(self) -> Votes[Comparisons]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def truth(self) -> Any:
        """The score of each item."""
        return self.planted.score

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, random, reversed or constant."""
        return self.planted.kind

    def truth_table(self) -> pl.DataFrame:
        """The table item, score."""
        return pl.DataFrame({"item": self.items, "score": self.truth})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, slope, position."""
        columns: dict[str, Any] = {"worker": self.votes.workers, "kind": pl.Series(self.kind, dtype=pl.String)}
        return pl.DataFrame(columns | {name: getattr(self.planted, name) for name in ("slope", "position")})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written."""
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class ComparisonScenario:
    """A ready-made crowd: one line about it, and what `comparison_crowd` is told."""

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
    ) -> PlantedComparisons:
        """A crowd of this size; an eighth as many items as tasks."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        for name, given in (("classes", n_classes), ("features", n_features)):
            if given:
                raise ParameterError(f"{name}={given} does not go with comparisons; leave it out")
        return PlantedComparisons(
            comparison_crowd(n_tasks, n_workers, per_task=labels_per_task, **self.told, seed=seed)
        )


COMPARISON_SCENARIOS: dict[str, ComparisonScenario] = {
    "comparisons_plain": ComparisonScenario("which of two items is better; an eighth as many items as pairs"),
    "comparisons_ties": ComparisonScenario("comparisons with ties, some workers like them more", {"ties": 0.0}),
    "comparisons_random": ComparisonScenario("comparisons; a third toss a coin", {"random": 1 / 3}),
    "comparisons_reversed": ComparisonScenario("comparisons; a fifth prefer the worse item", {"reversed": 0.2}),
    "comparisons_mixed": ComparisonScenario(
        "comparisons with ties; a fifth toss a coin, one in ten is reversed, one in ten takes the left side always",
        {"random": 0.2, "reversed": 0.1, "constant": 0.1, "ties": -0.5},
    ),
}
