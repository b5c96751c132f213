"""Simulated crowds that compare pairs of items.

>>> from crowdwise.kinds.comparisons.simulate import comparison_crowd
>>> crowd = comparison_crowd(100, 20, per_task=5, random=0.2, seed=1)
>>> len(crowd.outcome), sorted(set(crowd.kind))
(500, ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I4
from ...core.votes import Votes
from ...simulate.draws import draw_kinds, draw_pairs, draw_rows, numbered
from ...simulate.planted import Planted, answer_columns, planted_by, scenarios, worker_columns
from .answers import OUTCOMES, Comparisons, comparison_votes


@dataclass(frozen=True, eq=False)
class ComparisonCrowd:
    """The answers of a simulated crowd and the parameters behind them.

    An honest worker answers left, right or tie with log-odds a, -a, tie, where a = (slope (score_left - score_right) +
    position) / 2. `kind` is honest, random (tosses a coin), reversed (slope below 0) or constant (always the left
    side).
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
) -> ComparisonCrowd:
    """Draw a crowd that compares pairs of items. The first pairs form a ring that connects all items.

    Args:
        tasks: Number of pairs.
        workers: Number of workers.
        items: Number of items (None: an eighth of the number of pairs).
        per_task: Number of different workers of each pair.
        scale: Standard deviation of the items' scores.
        slope: Standard deviation of the logarithm of the workers' slopes.
        position: Standard deviation of the workers' preference for the left side.
        ties: Mean log-odds of a tie (None: no ties).
        random: Share of workers who toss a coin.
        reversed: Share of workers who prefer the worse item.
        constant: Share of workers who always choose the left side.
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    k = max(3, tasks // 8) if items is None else items
    score = rng.normal(0.0, scale, k)
    one, two = draw_pairs(k, tasks, rng)
    kind = draw_kinds(workers, {"random": random, "reversed": reversed, "constant": constant}, rng)
    kinds = np.array(kind)
    slopes = np.exp(rng.normal(0.0, slope, workers))
    ignores_items = np.isin(kinds, ["random", "constant"])
    slopes = np.where(kinds == "reversed", -slopes, np.where(ignores_items, 0.0, slopes))
    pull = rng.normal(0.0, position, workers)
    pull = np.where(kinds == "constant", 12.0, np.where(kinds == "random", 0.0, pull))
    tie = np.full(workers, -np.inf) if ties is None else rng.normal(ties, 0.7, workers)
    task, worker = draw_rows(tasks, workers, per_task, rng)
    swap = rng.random(len(task)) < 0.5
    left, right = np.where(swap, two[task], one[task]), np.where(swap, one[task], two[task])
    a = (slopes[worker] * (score[left] - score[right]) + pull[worker]) / 2
    odds = np.exp(np.stack([a, -a, tie[worker]], axis=1) - np.abs(a)[:, None])
    edges = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    outcome = np.minimum((rng.random(len(task))[:, None] > edges).sum(axis=1), 2).astype(np.int8)
    i4 = np.int32
    return ComparisonCrowd(
        task.astype(i4), worker.astype(i4), left.astype(i4), right.astype(i4), outcome, score, slopes, pull, tie, kind
    )


class PlantedComparisons(Planted[Votes[Comparisons]]):
    """Simulated comparisons with their ground truth. `truth` is the score of each item.

    >>> from crowdwise import simulate
    >>> simulate.scenario("comparisons_reversed", tasks=40, workers=10, seed=1)
    PlantedComparisons(honest, reversed: Votes(200 comparisons, 40 tasks, 10 workers))
    """

    def __init__(self, planted: ComparisonCrowd) -> None:
        tasks, workers = numbered("t", int(planted.task.max()) + 1), numbered("w", len(planted.kind))
        self.items = numbered("i", len(planted.score))
        votes = comparison_votes(
            self.items.gather(planted.left),
            self.items.gather(planted.right),
            pl.Series(OUTCOMES, dtype=pl.String).gather(planted.outcome.astype("int64")),
            items=self.items,
            **answer_columns(planted, tasks, workers),
        )
        super().__init__(
            votes,
            pl.DataFrame({"item": self.items, "score": planted.score}),
            worker_columns(workers, planted.kind, slope=planted.slope, position=planted.position),
            planted,
        )

    @property
    def truth(self) -> F8:
        """The true score of each item."""
        score: F8 = self.planted.score
        return score


COMPARISON_SCENARIOS = scenarios(
    "comparisons",
    planted_by(comparison_crowd, PlantedComparisons),
    {
        "comparisons_plain": ("which of two items is better; one item for every eight pairs", {}),
        "comparisons_ties": ("comparisons with ties; workers differ in how often they give them", {"ties": 0.0}),
        "comparisons_random": ("comparisons; a third of the workers toss a coin", {"random": 1 / 3}),
        "comparisons_reversed": ("comparisons; a fifth of the workers prefer the worse item", {"reversed": 0.2}),
        "comparisons_mixed": (
            "comparisons with ties; a fifth of the workers toss a coin, a tenth are reversed, a tenth choose left",
            {"random": 0.2, "reversed": 0.1, "constant": 0.1, "ties": -0.5},
        ),
    },
)
