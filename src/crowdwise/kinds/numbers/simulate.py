"""Planted crowds of numeric answers: arrays, together with everything that is true about them.

>>> from crowdwise.kinds.numbers.simulate import number_crowd
>>> crowd = number_crowd(100, 20, per_task=5, constant=0.2, seed=1)
>>> len(crowd.value), sorted(set(crowd.kind))
(500, ['constant', 'honest'])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from .kind import Numbers, number_votes

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class NumberCrowd:
    """What the workers said, sorted by task and worker, and what nobody but a simulator knows.

    An honest worker says centre + slope * (truth - centre) + bias + noise of standard deviation spread, rounded to
    multiples of `step` (0: not rounded). `kind` is honest, constant, random, reversed or copier, `copies[worker]` whom
    they copy (-1: nobody).
    """

    task: I4
    worker: I4
    value: F8
    truth: F8
    centre: float
    bias: F8
    slope: F8
    spread: F8
    step: F8
    kind: list[str]
    copies: I4


def number_crowd(
    tasks: int = 500,
    workers: int = 50,
    *,
    per_task: int = 5,
    centre: float = 0.0,
    scale: float = 1.0,
    bias: float = 0.3,
    slope: float = 0.0,
    noise: tuple[float, float] = (0.3, 1.2),
    heavy: float | None = None,
    constant: float = 0.0,
    random: float = 0.0,
    reversed: float = 0.0,
    copier: float = 0.0,
    steps: Sequence[float] = (),
    limits: tuple[float, float] | None = None,
    seed: int | np.random.Generator = 0,
) -> NumberCrowd:
    """Truth ~ N(centre, scale²); biases, slopes (around 1) and noise drawn, in units of scale.

    `bias` and `slope` are standard deviations, `noise` the ends of a log-uniform draw, `heavy` the degrees of freedom
    of Student noise. `constant`, `random`, `reversed`, `copier` are shares of the workers. `steps` are what workers
    round to, one each; `limits` are the ends of the scale.
    """
    rng = np.random.default_rng(seed)
    truth = rng.normal(centre, scale, tasks)
    if limits is not None:
        truth = np.clip(truth, *limits)
    kind = _kinds(workers, {"constant": constant, "random": random, "reversed": reversed, "copier": copier}, rng)
    by = np.array(kind)
    slopes = rng.normal(1.0, slope, workers)
    slopes = np.where(by == "reversed", -np.abs(slopes), np.where(np.isin(by, ["constant", "random"]), 0.0, slopes))
    biases = scale * rng.normal(0.0, bias, workers)
    spread = scale * np.exp(rng.uniform(np.log(noise[0]), np.log(noise[1]), workers))
    spread = np.where(by == "constant", 0.01 * scale, np.where(by == "random", scale, spread))
    step = rng.choice(np.asarray(steps, dtype=np.float64), workers) if len(steps) else np.zeros(workers)
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1)
    task = np.repeat(np.arange(tasks), per_task)
    worker = worker.ravel()
    error = rng.normal(size=len(task)) if heavy is None else rng.standard_t(heavy, size=len(task))
    value = centre + slopes[worker] * (truth[task] - centre) + biases[worker] + spread[worker] * error
    value = _on_scale(value, step[worker], limits)
    copies = _copy(by, rng)
    value = _copied(task, worker, value, copies)
    return NumberCrowd(
        task.astype(np.int32), worker.astype(np.int32), value, truth, centre, biases, slopes, spread, step, kind, copies
    )


def _kinds(workers: int, shares: dict[str, float], rng: np.random.Generator) -> list[str]:
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    return [kinds[i] for i in rng.permutation(workers)]


def _on_scale(value: F8, step: F8, limits: tuple[float, float] | None) -> F8:
    value = np.where(step > 0, np.round(value / np.where(step > 0, step, 1.0)) * step, value)
    return value if limits is None else np.clip(value, *limits)


def _copy(kind: npt.NDArray[np.str_], rng: np.random.Generator) -> I4:
    """Whom each copier copies: an honest worker each."""
    out = np.full(len(kind), -1, dtype=np.int32)
    honest, copiers = np.flatnonzero(kind == "honest"), np.flatnonzero(kind == "copier")
    if len(honest) and len(copiers):
        out[copiers] = rng.choice(honest, len(copiers), replace=len(copiers) > len(honest))
    return out


def _copied(task: npt.NDArray[np.int64], worker: npt.NDArray[np.int64], value: F8, copies: I4) -> F8:
    """Copiers say what their source said where it answered the same task, and their own answer elsewhere."""
    if not (copies >= 0).any():
        return value
    n = len(copies)
    key = task * n + worker
    source = task * n + copies[worker]
    at = np.minimum(np.searchsorted(key, source), len(key) - 1)
    found = (copies[worker] >= 0) & (key[at] == source)
    return np.where(found, value[at], value)


# ---------------------------------------------------------------- Planted crowds of numbers

# ----------------------------------------------------------------
# Ready-made crowds of numbers by name: votes, the truth, and who was planted as what.

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
