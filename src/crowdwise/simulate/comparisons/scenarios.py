"""Ready-made crowds that compare items, by name: votes, the items' scores, and who was planted as what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from ...kinds.comparisons.answers import OUTCOMES, Comparisons
from ...kinds.comparisons.votes import comparison_votes
from .draw import PairCrowd, comparison_crowd


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
