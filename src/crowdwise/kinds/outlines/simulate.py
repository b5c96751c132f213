"""Ready-made crowds that draw outlines, by name: one round blob a picture, drawn more or less well."""

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
from ..similarities.simulate import numbered
from .answers import Outlines, outline_votes, write

POINTS = 32
WIDTH, HEIGHT = 640.0, 480.0


@dataclass(frozen=True, eq=False, repr=False)
class PlantedOutlines:
    """What the workers drew, the true outlines, and who was planted as what (honest, random, idle).

    >>> from crowdwise import simulate
    >>> simulate.scenario("outlines_random", tasks=10, workers=10, seed=1)
    PlantedOutlines(honest, random: Votes(50 answers with outlines, 10 tasks, 10 workers))
    """

    task: Any
    worker: Any
    drawn: list[str]
    truth: list[str]
    noise: Any
    kind: list[str]

    def __repr__(self) -> str:
        return f"PlantedOutlines({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @cached_property
    def votes(self) -> Votes[Outlines]:
        """What the workers drew."""
        tasks, workers = numbered("t", len(self.truth)), numbered("w", len(self.kind))
        return outline_votes(
            tasks.gather(self.task), workers.gather(self.worker), self.drawn, tasks=tasks, workers=workers
        )

    @property
    def annotations(self) -> Votes[Outlines]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    def truth_table(self) -> pl.DataFrame:
        """The table task, outlines."""
        return pl.DataFrame({"task": self.votes.tasks, "outlines": self.truth})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, noise."""
        return pl.DataFrame({"worker": self.votes.workers, "kind": self.kind, "noise": np.round(self.noise, 4)})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written."""
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class OutlineScenario:
    """A ready-made crowd: one line about it, and the shares of those who are not honest."""

    description: str
    told: Mapping[str, float] = field(default_factory=dict)

    def make(
        self,
        n_tasks: int,
        n_workers: int,
        n_classes: int | None,
        labels_per_task: int,
        n_features: int = 0,
        seed: int = 0,
    ) -> PlantedOutlines:
        """A crowd of this size."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        for name, given in (("classes", n_classes), ("features", n_features)):
            if given:
                raise ParameterError(f"{name}={given} does not go with outlines; leave it out")
        rng = np.random.default_rng(seed)
        kinds = [name for name, share in self.told.items() for _ in range(round(share * n_workers))]
        kind = [(kinds + ["honest"] * n_workers)[i] for i in rng.permutation(n_workers)]
        noise = 0.06 * np.exp(rng.normal(0.0, 0.5, n_workers))
        blobs = [_blob(rng) for _ in range(n_tasks)]
        everybody = np.tile(np.arange(n_workers), (n_tasks, 1))
        worker = np.sort(rng.permuted(everybody, axis=1)[:, :labels_per_task], axis=1).ravel()
        task = np.repeat(np.arange(n_tasks), labels_per_task)
        drawn = [
            _drawn(blobs[t], kind[w], float(noise[w]), rng) for t, w in zip(task.tolist(), worker.tolist(), strict=True)
        ]
        return PlantedOutlines(task, worker, drawn, [write([_points(*blob)]) for blob in blobs], noise, kind)


def _blob(rng: np.random.Generator) -> tuple[Any, Any]:
    """(middle, radius at each of the angles)."""
    middle = rng.uniform(0.3, 0.7, 2) * (WIDTH, HEIGHT)
    angle = np.linspace(0, 2 * np.pi, POINTS, endpoint=False)
    waves = sum(rng.normal(0, 0.12) * np.sin(k * angle + rng.uniform(0, 6.3)) for k in (2, 3, 4))
    return middle, rng.uniform(50, 130) * (1 + waves)


def _points(middle: Any, radius: Any) -> Any:
    angle = np.linspace(0, 2 * np.pi, POINTS, endpoint=False)
    return np.round(middle + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), 1)


def _drawn(blob: tuple[Any, Any], kind: str, noise: float, rng: np.random.Generator) -> str:
    if kind == "idle":
        return "[]"
    middle, radius = _blob(rng) if kind == "random" else blob
    off = rng.normal(0, noise) + noise * np.convolve(rng.normal(size=POINTS + 4), np.ones(5) / 5, "valid")
    shift = rng.normal(0, noise, 2) * radius.mean()
    return write([_points(middle + shift, radius * np.maximum(1 + off, 0.2))])


OUTLINE_SCENARIOS: dict[str, OutlineScenario] = {
    "outlines_plain": OutlineScenario("outlines round one thing a picture, each worker with a noise of their own"),
    "outlines_random": OutlineScenario("outlines; a fifth draw something anywhere", {"random": 0.2}),
    "outlines_idle": OutlineScenario("outlines; a fifth never draw any", {"idle": 0.2}),
}
