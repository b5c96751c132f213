"""Simulated crowds that answer with numbers.

>>> from crowdwise.kinds.numbers.simulate import number_crowd
>>> crowd = number_crowd(100, 20, per_task=5, constant=0.2, seed=1)
>>> len(crowd.value), sorted(set(crowd.kind))
(500, ['constant', 'honest'])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from ...core.arrays import F8, I4
from ...core.votes import Votes
from ...simulate.draws import copy_answers, draw_kinds, draw_rows, draw_sources, numbered, source_names
from ...simulate.planted import Planted, answer_columns, planted_by, scenarios, worker_columns
from .answers import Numbers, number_votes


@dataclass(frozen=True, eq=False)
class SimulatedNumbers:
    """The answers of a simulated crowd, sorted by task and worker, and the parameters behind them.

    An honest worker answers centre + slope * (truth - centre) + bias + noise of standard deviation `spread`, rounded to
    multiples of `step` (0: not rounded). `kind` is honest, constant, random, reversed or copier; `copies[worker]` is
    the worker that a copier copies (-1: none).
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
) -> SimulatedNumbers:
    """Draw a crowd that answers with numbers.

    Args:
        tasks: Number of tasks.
        workers: Number of workers.
        per_task: Number of different workers of each task.
        centre: Mean of the true values.
        scale: Standard deviation of the true values, and the unit of biases and noise.
        bias: Standard deviation of the workers' biases.
        slope: Standard deviation of the workers' slopes around 1.
        noise: Range of a log-uniform draw of each worker's noise.
        heavy: Degrees of freedom of Student noise (None: normal noise).
        constant: Share of workers with nearly the same answer to every task.
        random: Share of workers whose answers do not depend on the task.
        reversed: Share of workers with a negative slope.
        copier: Share of workers who copy an honest worker.
        steps: Rounding steps; each worker draws one.
        limits: Ends of the scale.
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    truth = rng.normal(centre, scale, tasks)
    if limits is not None:
        truth = np.clip(truth, *limits)
    shares = {"constant": constant, "random": random, "reversed": reversed, "copier": copier}
    kind = draw_kinds(workers, shares, rng)
    kinds = np.array(kind)
    slopes = rng.normal(1.0, slope, workers)
    ignores_task = np.isin(kinds, ["constant", "random"])
    slopes = np.where(kinds == "reversed", -np.abs(slopes), np.where(ignores_task, 0.0, slopes))
    biases = scale * rng.normal(0.0, bias, workers)
    spread = scale * np.exp(rng.uniform(np.log(noise[0]), np.log(noise[1]), workers))
    spread = np.where(kinds == "constant", 0.01 * scale, np.where(kinds == "random", scale, spread))
    step = rng.choice(np.asarray(steps, dtype=np.float64), workers) if len(steps) else np.zeros(workers)
    task, worker = draw_rows(tasks, workers, per_task, rng)
    error = rng.normal(size=len(task)) if heavy is None else rng.standard_t(heavy, size=len(task))
    value = centre + slopes[worker] * (truth[task] - centre) + biases[worker] + spread[worker] * error
    value = _on_scale(value, step[worker], limits)
    copies = draw_sources(kind, rng)
    value = copy_answers(task, worker, value, copies)
    return SimulatedNumbers(
        task.astype(np.int32), worker.astype(np.int32), value, truth, centre, biases, slopes, spread, step, kind, copies
    )


def _on_scale(value: F8, step: F8, limits: tuple[float, float] | None) -> F8:
    value = np.where(step > 0, np.round(value / np.where(step > 0, step, 1.0)) * step, value)
    return value if limits is None else np.clip(value, *limits)


class PlantedNumbers(Planted[Votes[Numbers]]):
    """Simulated numbers with their ground truth. `truth` holds the true value of each task.

    >>> from crowdwise import simulate
    >>> simulate.scenario("numbers_constants", tasks=20, workers=10, seed=1)
    PlantedNumbers(constant, honest: Votes(100 numbers, 20 tasks, 10 workers))
    """

    def __init__(self, planted: SimulatedNumbers) -> None:
        tasks, workers = numbered("t", len(planted.truth)), numbered("w", len(planted.kind))
        super().__init__(
            number_votes(value=planted.value, **answer_columns(planted, tasks, workers)),
            pl.DataFrame({"task": tasks, "value": planted.truth}),
            worker_columns(
                workers,
                planted.kind,
                copies=source_names(workers, planted.copies),
                bias=planted.bias,
                slope=planted.slope,
                spread=planted.spread,
            ),
            planted,
        )


NUMBER_SCENARIOS = scenarios(
    "numbers",
    planted_by(partial(number_crowd, centre=50.0, scale=15.0), PlantedNumbers),
    {
        "numbers_plain": ("numbers around 50: a bias and a noise of each worker", {}),
        "numbers_constants": ("numbers; a fifth of the workers nearly always give the same answer", {"constant": 0.2}),
        "numbers_random": ("numbers; a fifth of the workers answer at random", {"random": 0.2}),
        "numbers_slopes": (
            "numbers; scales stretched or squeezed, one in twenty reversed", {"slope": 0.35, "reversed": 0.05}
        ),
        "numbers_copiers": ("numbers; a fifth of the workers copy an honest worker", {"copier": 0.2}),
        "numbers_heavy_tails": ("numbers; occasional outliers (Student noise, df 2)", {"heavy": 2.0}),
        "numbers_ratings": (
            "whole stars from 1 to 5", {"centre": 3.0, "scale": 1.0, "steps": (1.0,), "limits": (1.0, 5.0)}
        ),
        "numbers_mixed": (
            "numbers from 0 to 100, rounded by some; a tenth each constant, random, reversed and copiers",
            {"constant": 0.1, "random": 0.1, "reversed": 0.1, "copier": 0.1, "slope": 0.15, "limits": (0.0, 100.0),
             "steps": (0.0, 1.0, 5.0)},
        ),
    },
)  # fmt: skip
