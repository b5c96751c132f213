"""Simulated crowds that give the probability that a statement is true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8
from ...core.votes import Votes
from ...simulate.draws import numbered
from ...simulate.planted import Planted, Size, answer_columns, scenarios, worker_columns
from .answers import Probabilities, probability_votes
from .maths import chance


@dataclass(frozen=True, eq=False)
class ProbabilityCrowd:
    """The probabilities of a simulated crowd, the true outcome of each task, and the parameters of each worker.

    An honest worker answers with log-odds shift + gap · (±1) + noise of standard deviation `spread`. `kind` is honest,
    constant, random or reversed.
    """

    task: I8
    worker: I8
    probability: F8
    truth: npt.NDArray[np.bool_]
    kind: list[str]
    shift: F8
    gap: F8
    spread: F8


class PlantedProbabilities(Planted[Votes[Probabilities]]):
    """Simulated probabilities with their ground truth. `truth` is the outcome of each task.

    >>> from crowdwise import simulate
    >>> simulate.scenario("probabilities_plain", tasks=20, workers=10, seed=1)
    PlantedProbabilities(honest: Votes(100 probabilities, 20 tasks, 10 workers))
    """

    def __init__(self, planted: ProbabilityCrowd) -> None:
        tasks, workers = numbered("t", len(planted.truth)), numbered("w", len(planted.kind))
        super().__init__(
            probability_votes(probability=planted.probability, **answer_columns(planted, tasks, workers)),
            pl.DataFrame({"task": tasks, "label": planted.truth.astype(np.int64)}),
            worker_columns(workers, planted.kind, shift=planted.shift, gap=planted.gap, spread=planted.spread),
            planted,
        )


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
    """Draw a crowd that gives probabilities, rounded to hundredths.

    Args:
        n_tasks: Number of tasks.
        n_workers: Number of workers.
        per_task: Number of different workers of each task.
        share: Share of tasks that are true.
        leaning: Mean shift of all workers, in log-odds.
        common: Standard deviation of an error that all workers of a task share, in log-odds.
        constant: Share of workers with the same answer to every task.
        random: Share of workers whose answers do not depend on the task.
        reversed: Share of workers who answer the opposite.
        seed: Seed of the draws.
    """
    rng = np.random.default_rng(seed)
    truth = rng.random(n_tasks) < share
    shift, gap = rng.normal(leaning, 0.5, n_workers), rng.gamma(6, 1 / 6, n_workers)
    spread = rng.gamma(8, 1 / 8, n_workers)
    kinds = np.full(n_workers, "honest", dtype=object)
    begin = 0
    for name, of_workers in (("constant", constant), ("random", random), ("reversed", reversed)):
        n = round(of_workers * n_workers)
        kinds[begin : begin + n] = name
        begin += n
    kinds = rng.permutation(kinds)
    gap = np.where(kinds == "honest", gap, np.where(kinds == "reversed", -gap, 0.0))
    spread = np.where(kinds == "constant", 0.0, spread)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.argsort(rng.random((n_tasks, n_workers)), axis=1)[:, :per_task].ravel()
    sign = np.where(truth, 1.0, -1.0)[task]
    pull = np.where(kinds[worker] == "honest", rng.normal(0, common, n_tasks)[task], 0.0)
    odds = shift[worker] + gap[worker] * sign + pull + spread[worker] * rng.normal(size=len(task))
    probability = np.round(chance(odds), 2)
    return PlantedProbabilities(
        ProbabilityCrowd(task, worker, probability, truth, kinds.tolist(), shift, gap, spread)
    )  # fmt: skip


def _draw(size: Size, **options: Any) -> PlantedProbabilities:
    return probability_crowd(size.tasks, size.workers, per_task=size.labels, seed=size.seed, **options)


PROBABILITY_SCENARIOS = scenarios(
    "probabilities",
    _draw,
    {
        "probabilities_plain": ("probabilities; each worker has a shift, a gap and a noise", {}),
        "probabilities_leaning": ("probabilities; all workers lean towards yes", {"leaning": 0.8}),
        "probabilities_common": ("probabilities; tasks mislead all workers in the same way", {"common": 0.8}),
        "probabilities_mixed": (
            "probabilities; a tenth each constant, random and reversed, all lean towards yes",
            {"leaning": 0.5, "common": 0.4, "constant": 0.1, "random": 0.1, "reversed": 0.1},
        ),
    },
)
