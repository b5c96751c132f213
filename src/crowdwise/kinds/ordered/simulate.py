"""Simulated crowds that choose among ordered classes.

>>> from crowdwise.kinds.ordered.simulate import ordered_crowd
>>> crowd = ordered_crowd(100, 20, 5, per_task=5, constant=0.2, seed=1)
>>> len(crowd.level), sorted(set(crowd.kind))
(500, ['constant', 'honest'])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8, I4
from ...simulate.draws import draw_kinds, draw_rows, numbered
from ...simulate.planted import Planted, Size, answer_columns, scenarios, worker_columns
from ..classes.annotations import Annotations


@dataclass(frozen=True, eq=False)
class OrderedCrowd:
    """The answers of a simulated crowd (`level`), sorted by task and worker, and the parameters behind them.

    An honest worker gives the level nearest to truth + bias + scale · logistic noise. `kind` is honest, constant,
    random or reversed (the order of the classes is turned upside down).
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
    """Draw a crowd that chooses among ordered classes.

    Args:
        tasks: Number of tasks.
        workers: Number of workers.
        levels: Number of classes.
        per_task: Number of different workers of each task.
        bias: Standard deviation of the workers' biases, in levels.
        scale: Range of a log-uniform draw of each worker's noise, in levels.
        uneven: Standard deviation of the logits of the class frequencies (0: all classes equally common).
        constant: Share of workers with the same answer to every task.
        random: Share of workers who answer at random.
        reversed: Share of workers with the order upside down.
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    share = np.exp(rng.normal(0, uneven, levels))
    truth = rng.choice(levels, tasks, p=share / share.sum())
    kind = draw_kinds(workers, {"constant": constant, "random": random, "reversed": reversed}, rng)
    kinds = np.array(kind)
    biases = rng.normal(0, bias, workers)
    scales = np.exp(rng.uniform(np.log(scale[0]), np.log(scale[1]), workers))
    favourite = rng.integers(levels, size=workers)
    task, worker = draw_rows(tasks, workers, per_task, rng)
    latent = truth[task] + biases[worker] + scales[worker] * rng.logistic(size=len(task))
    level = np.clip(np.round(latent), 0, levels - 1)
    level = np.where((kinds == "reversed")[worker], levels - 1 - level, level)
    level = np.where((kinds == "constant")[worker], favourite[worker], level)
    level = np.where((kinds == "random")[worker], rng.integers(levels, size=len(task)), level)
    return OrderedCrowd(
        task.astype(np.int32), worker.astype(np.int32), level.astype(np.int32), truth.astype(np.int32), biases, scales,
        kind,
    )  # fmt: skip


class PlantedOrder(Planted[Annotations]):
    """Simulated labels of ordered classes with their ground truth. `truth` is the level of each task, 0 the lowest.

    Args:
        levels: Number of classes.

    >>> from crowdwise import simulate
    >>> simulate.scenario("ordered_constants", tasks=20, workers=10, seed=1)
    PlantedOrder(constant, honest: Annotations(100 annotations, 20 tasks, 10 workers, 5 classes))
    """

    def __init__(self, planted: OrderedCrowd, levels: int) -> None:
        tasks, workers = numbered("t", len(planted.truth)), numbered("w", len(planted.kind))
        self.levels = levels
        super().__init__(
            Annotations.from_arrays(
                label=self.classes.gather(planted.level),
                classes=self.classes,
                order=self.classes.to_list(),
                **answer_columns(planted, tasks, workers),
            ),
            pl.DataFrame({"task": tasks, "label": self.classes.gather(planted.truth)}),
            worker_columns(workers, planted.kind, bias=planted.bias, scale=planted.scale),
            planted,
        )

    @property
    def classes(self) -> pl.Series:
        """The classes from the lowest to the highest: 1, 2, ..."""
        return pl.Series("label", [str(i + 1) for i in range(self.levels)])

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables that `save` writes, by file name."""
        return {
            "labels.csv": self.votes.to_frame(),
            "truth.csv": self.truth_table(),
            "workers.csv": self.worker_table(),
        }


def _draw(size: Size, **options: Any) -> PlantedOrder:
    assert size.classes is not None
    crowd = ordered_crowd(
        size.tasks, size.workers, size.classes, per_task=size.labels, seed=size.seed, **options
    )  # fmt: skip
    return PlantedOrder(crowd, size.classes)


ORDERED_SCENARIOS = scenarios(
    "ordered",
    _draw,
    {
        "ordered_plain": ("ordered classes 1 to 5: a bias and a scale of each worker", {}),
        "ordered_strict": ("ordered classes; some workers are strict and some lenient by a step", {"bias": 1.0}),
        "ordered_constants": ("ordered classes; a fifth of the workers always give the same answer", {"constant": 0.2}),
        "ordered_random": ("ordered classes; a fifth of the workers answer at random", {"random": 0.2}),
        "ordered_reversed": ("ordered classes; a tenth of the workers have the order upside down", {"reversed": 0.1}),
        "ordered_uneven": ("ordered classes, some of them rare", {"uneven": 1.0}),
    },
    takes=("classes",),
    classes=5,
)
