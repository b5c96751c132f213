"""Ready-made crowds of numbers by name: votes, the truth, and who was planted as what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from ...kinds.numbers.votes import Numbers, number_votes
from .draw import NumberCrowd, number_crowd

SCALE: dict[str, Any] = {"centre": 50.0, "scale": 15.0}


@dataclass(frozen=True, eq=False, repr=False)
class PlantedNumbers:
    """What the workers said, and what nobody but a simulator knows: the counterpart of `Crowd` for numbers.

    `planted` holds it as arrays, tasks and workers in the order of votes.tasks and votes.workers.

    >>> from crowdwise import simulate
    >>> simulate.scenario("numbers_constants", tasks=20, workers=10, seed=1)
    PlantedNumbers(constant, honest: Votes(100 numbers, 20 tasks, 10 workers))
    """

    planted: NumberCrowd

    def __repr__(self) -> str:
        return f"PlantedNumbers({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @cached_property
    def votes(self) -> Votes[Numbers]:
        """What the workers said."""
        tasks, workers = (
            pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])
            for mark, n in (("t", len(self.planted.truth)), ("w", len(self.planted.kind)))
        )
        task, worker = tasks.gather(self.planted.task), workers.gather(self.planted.worker)
        return number_votes(task, worker, self.planted.value, tasks=tasks, workers=workers)

    @property
    def annotations(self) -> Votes[Numbers]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def truth(self) -> Any:
        """The true value of each task."""
        return self.planted.truth

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, constant, random, reversed or copier."""
        return self.planted.kind

    @property
    def copies(self) -> list[str | None]:
        """Whom each worker copies."""
        names = self.votes.workers.to_list()
        return [names[at] if at >= 0 else None for at in self.planted.copies.tolist()]

    def truth_table(self) -> pl.DataFrame:
        """The table task, value."""
        return pl.DataFrame({"task": self.votes.tasks, "value": self.truth})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, copies, bias, slope, spread."""
        columns: dict[str, Any] = {
            "worker": self.votes.workers,
            "kind": pl.Series(self.kind, dtype=pl.String),
            "copies": pl.Series(self.copies, dtype=pl.String),
        }
        return pl.DataFrame(columns | {name: getattr(self.planted, name) for name in ("bias", "slope", "spread")})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written.

        Files that are there already are only overwritten with `force`.
        """
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class NumberScenario:
    """A ready-made crowd of numbers: one line about it, and what `number_crowd` is told."""

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
    ) -> PlantedNumbers:
        """A crowd of this size."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        for name, given in (("classes", n_classes), ("features", n_features)):
            if given:
                raise ParameterError(f"{name}={given} does not go with numbers; leave it out")
        return PlantedNumbers(
            number_crowd(n_tasks, n_workers, per_task=labels_per_task, **{**SCALE, **self.told}, seed=seed)
        )


NUMBER_SCENARIOS: dict[str, NumberScenario] = {
    "numbers_plain": NumberScenario("numbers around 50: a bias and a noise of each worker"),
    "numbers_constants": NumberScenario("numbers; a fifth say nearly always the same", {"constant": 0.2}),
    "numbers_random": NumberScenario("numbers; a fifth know nothing of the task", {"random": 0.2}),
    "numbers_slopes": NumberScenario(
        "numbers; scales stretched or squeezed, one in twenty upside down", {"slope": 0.35, "reversed": 0.05}
    ),
    "numbers_copiers": NumberScenario("numbers; a fifth copy an honest worker each", {"copier": 0.2}),
    "numbers_heavy_tails": NumberScenario("numbers; wild answers now and then (Student noise, df 2)", {"heavy": 2.0}),
    "numbers_ratings": NumberScenario(
        "whole stars from 1 to 5", {"centre": 3.0, "scale": 1.0, "steps": (1.0,), "limits": (1.0, 5.0)}
    ),
    "numbers_mixed": NumberScenario(
        "numbers from 0 to 100, rounded by some; one in ten constant, random, reversed, copying each",
        {"constant": 0.1, "random": 0.1, "reversed": 0.1, "copier": 0.1, "slope": 0.15, "limits": (0.0, 100.0),
         "steps": (0.0, 1.0, 5.0)},
    ),
}  # fmt: skip
