"""Planted crowds of ordered classes: levels that workers see too high or too low, and more or less sharply.

>>> from crowdwise.kinds.ordered.simulate import ordered_crowd
>>> crowd = ordered_crowd(100, 20, 5, per_task=5, constant=0.2, seed=1)
>>> len(crowd.level), sorted(set(crowd.kind))
(500, ['constant', 'honest'])
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
from ..classes.annotations import Annotations

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class OrderedCrowd:
    """What the workers said (`level`), sorted by task and worker, and what nobody but a simulator knows.

    An honest worker says the level into which truth + bias + scale · logistic noise falls. `kind` is honest, constant,
    random or reversed (who has the ladder upside down).
    """

    task: I4
    worker: I4
    level: I4
    truth: I4
    bias: F8
    scale: F8
    kind: list[str]


def ordered_crowd(
    tasks: int = 500,
    workers: int = 50,
    levels: int = 5,
    *,
    per_task: int = 5,
    bias: float = 0.5,
    scale: tuple[float, float] = (0.2, 0.8),
    uneven: float = 0.0,
    constant: float = 0.0,
    random: float = 0.0,
    reversed: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> OrderedCrowd:
    """True levels drawn evenly, or unevenly (`uneven`: sd of their logits); biases of this standard deviation, scales
    log-uniform between these ends, in steps. `constant`, `random` and `reversed` are shares of the workers."""
    rng = np.random.default_rng(seed)
    share = np.exp(rng.normal(0, uneven, levels))
    truth = rng.choice(levels, tasks, p=share / share.sum())
    kind = _kinds(workers, {"constant": constant, "random": random, "reversed": reversed}, rng)
    by = np.array(kind)
    biases = rng.normal(0, bias, workers)
    scales = np.exp(rng.uniform(np.log(scale[0]), np.log(scale[1]), workers))
    favourite = rng.integers(levels, size=workers)
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    seen = truth[task] + biases[worker] + scales[worker] * rng.logistic(size=len(task))
    level = np.clip(np.round(seen), 0, levels - 1)
    level = np.where((by == "reversed")[worker], levels - 1 - level, level)
    level = np.where((by == "constant")[worker], favourite[worker], level)
    level = np.where((by == "random")[worker], rng.integers(levels, size=len(task)), level)
    return OrderedCrowd(
        task.astype(np.int32), worker.astype(np.int32), level.astype(np.int32), truth.astype(np.int32), biases, scales,
        kind,
    )  # fmt: skip


def _kinds(workers: int, shares: dict[str, float], rng: np.random.Generator) -> list[str]:
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    return [kinds[i] for i in rng.permutation(workers)]


# ---------------------------------------------------------------- Planted crowds whose classes have an order

# ----------------------------------------------------------------
# Ready-made crowds of ordered classes by name: votes, the truth, and who was planted as what.


@dataclass(frozen=True, eq=False, repr=False)
class PlantedOrder:
    """What the workers said, and what nobody but a simulator knows: the counterpart of `Crowd` for ordered classes.

    >>> from crowdwise import simulate
    >>> simulate.scenario("ordered_constants", tasks=20, workers=10, seed=1)
    PlantedOrder(constant, honest: Annotations(100 annotations, 20 tasks, 10 workers, 5 classes))
    """

    planted: OrderedCrowd
    levels: int

    def __repr__(self) -> str:
        return f"PlantedOrder({', '.join(sorted(set(self.kind)))}: {self.annotations})"

    @property
    def classes(self) -> pl.Series:
        """The classes from the lowest to the highest: 1, 2, ..."""
        return pl.Series("label", [str(i + 1) for i in range(self.levels)])

    @cached_property
    def annotations(self) -> Annotations:
        """What the workers said."""
        tasks, workers = (
            pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])
            for mark, n in (("t", len(self.planted.truth)), ("w", len(self.planted.kind)))
        )
        return Annotations.from_arrays(
            tasks.gather(self.planted.task),
            workers.gather(self.planted.worker),
            self.classes.gather(self.planted.level),
            tasks=tasks,
            workers=workers,
            classes=self.classes,
            order=self.classes.to_list(),
        )

    @property
    def votes(self) -> Annotations:
        """The annotations, by the name that they have in other kinds."""
        return self.annotations

    @property
    def truth(self) -> Any:
        """The true level of each task, 0 the lowest."""
        return self.planted.truth

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, constant, random or reversed."""
        return self.planted.kind

    def truth_table(self) -> pl.DataFrame:
        """The table task, label."""
        return pl.DataFrame({"task": self.annotations.tasks, "label": self.classes.gather(self.truth)})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, bias, scale."""
        return pl.DataFrame(
            {
                "worker": self.annotations.workers,
                "kind": pl.Series(self.kind, dtype=pl.String),
                "bias": self.planted.bias,
                "scale": self.planted.scale,
            }
        )

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write labels.csv, truth.csv and workers.csv; returns the names written."""
        from ...io.csv.folder import write_tables

        tables = {"labels.csv": self.annotations.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class OrderedScenario:
    """A ready-made crowd of ordered classes: one line about it, and what `ordered_crowd` is told."""

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
    ) -> PlantedOrder:
        """A crowd of this size; of five classes unless said."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        if n_features:
            raise ParameterError(f"features={n_features} does not go with ordered classes; leave it out")
        k = 5 if n_classes is None else n_classes
        return PlantedOrder(ordered_crowd(n_tasks, n_workers, k, per_task=labels_per_task, **self.told, seed=seed), k)


ORDERED_SCENARIOS: dict[str, OrderedScenario] = {
    "ordered_plain": OrderedScenario("ordered classes 1 to 5: a bias and a scale of each worker"),
    "ordered_strict": OrderedScenario("ordered classes; some are strict and some lenient by a step", {"bias": 1.0}),
    "ordered_constants": OrderedScenario("ordered classes; a fifth always say the same", {"constant": 0.2}),
    "ordered_random": OrderedScenario("ordered classes; a fifth know nothing of the task", {"random": 0.2}),
    "ordered_reversed": OrderedScenario("ordered classes; a tenth have the ladder upside down", {"reversed": 0.1}),
    "ordered_uneven": OrderedScenario("ordered classes of which some are rare", {"uneven": 1.0}),
}
