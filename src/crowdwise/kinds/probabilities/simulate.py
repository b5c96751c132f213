"""Ready-made crowds of probabilities by name: votes, outcomes, and who was planted as what."""

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
from .kind import Probabilities, probability_votes
from .maths import chance

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class PlantedProbabilities:
    """What the workers said, and what nobody but a simulator knows.

    >>> from crowdwise import simulate
    >>> simulate.scenario("probabilities_plain", tasks=20, workers=10, seed=1)
    PlantedProbabilities(honest: Votes(100 probabilities, 20 tasks, 10 workers))
    """

    task: npt.NDArray[np.int64]
    worker: npt.NDArray[np.int64]
    said: F8
    truth: npt.NDArray[np.bool_]
    kind: list[str]
    shift: F8
    gap: F8
    spread: F8

    def __repr__(self) -> str:
        return f"PlantedProbabilities({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @cached_property
    def votes(self) -> Votes[Probabilities]:
        """What the workers said."""
        tasks, workers = (
            pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])
            for mark, n in (("t", len(self.truth)), ("w", len(self.kind)))
        )
        return probability_votes(
            tasks.gather(self.task), workers.gather(self.worker), self.said, tasks=tasks, workers=workers
        )

    @property
    def annotations(self) -> Votes[Probabilities]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    def truth_table(self) -> pl.DataFrame:
        """The table task, label (1: true)."""
        return pl.DataFrame({"task": self.votes.tasks, "label": self.truth.astype(np.int64)})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, shift, gap, spread."""
        own = {name: getattr(self, name) for name in ("shift", "gap", "spread")}
        return pl.DataFrame({"worker": self.votes.workers, "kind": pl.Series(self.kind, dtype=pl.String), **own})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written."""
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


def probability_crowd(
    n_tasks: int,
    n_workers: int,
    *,
    per_task: int = 5,
    share: float = 0.5,
    leaning: float = 0.0,
    common: float = 0.0,
    constant: float = 0.0,
    random: float = 0.0,
    reversed: float = 0.0,
    seed: int = 0,
) -> PlantedProbabilities:
    """Log odds = shift + gap · (±1) + noise, rounded to hundredths. `leaning` moves everybody's shift, `common` is the
    sd of a task's own pull, which everybody feels."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_tasks) < share
    shift, gap = rng.normal(leaning, 0.5, n_workers), rng.gamma(6, 1 / 6, n_workers)
    spread = rng.gamma(8, 1 / 8, n_workers)
    kinds = np.full(n_workers, "honest", dtype=object)
    at = 0
    for name, part in (("constant", constant), ("random", random), ("reversed", reversed)):
        many = round(part * n_workers)
        kinds[at : at + many] = name
        at += many
    kinds = rng.permutation(kinds)
    gap = np.where(kinds == "honest", gap, np.where(kinds == "reversed", -gap, 0.0))
    spread = np.where(kinds == "constant", 0.0, spread)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.argsort(rng.random((n_tasks, n_workers)), axis=1)[:, :per_task].ravel()
    sign = np.where(truth, 1.0, -1.0)[task]
    pull = np.where(kinds[worker] == "honest", rng.normal(0, common, n_tasks)[task], 0.0)
    odds = shift[worker] + gap[worker] * sign + pull + spread[worker] * rng.normal(size=len(task))
    said = np.round(chance(odds), 2)
    return PlantedProbabilities(task, worker, said, truth, kinds.tolist(), shift, gap, spread)


@dataclass(frozen=True)
class ProbabilityScenario:
    """A ready-made crowd: one line about it, and what `probability_crowd` is told."""

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
    ) -> PlantedProbabilities:
        """A crowd of this size."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        for name, given in (("classes", n_classes), ("features", n_features)):
            if given:
                raise ParameterError(f"{name}={given} does not go with probabilities; leave it out")
        return probability_crowd(n_tasks, n_workers, per_task=labels_per_task, **self.told, seed=seed)


PROBABILITY_SCENARIOS: dict[str, ProbabilityScenario] = {
    "probabilities_plain": ProbabilityScenario("probabilities; each worker has a shift, a gap and a noise"),
    "probabilities_leaning": ProbabilityScenario("probabilities; everybody leans to yes", {"leaning": 0.8}),
    "probabilities_common": ProbabilityScenario("probabilities; tasks mislead everybody alike", {"common": 0.8}),
    "probabilities_mixed": ProbabilityScenario(
        "probabilities; one in ten constant, random, reversed each, all lean to yes",
        {"leaning": 0.5, "common": 0.4, "constant": 0.1, "random": 0.1, "reversed": 0.1},
    ),
}
