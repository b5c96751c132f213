"""Simulated crowds that rank lists of items.

>>> from crowdwise.kinds.rankings.simulate import ranking_crowd
>>> crowd = ranking_crowd(40, 20, per_task=6, random=0.3, seed=1)
>>> len(crowd.order), sorted(set(crowd.kind))
(240, ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8, I4
from ...core.votes import Votes
from ...simulate.draws import draw_kinds, draw_rows, numbered
from ...simulate.planted import Planted, Size, answer_columns, scenarios, worker_columns
from .answers import Rankings, ranking_votes


@dataclass(frozen=True, eq=False)
class RankCrowd:
    """The answers of a simulated crowd and the parameters behind them.

    order[row] lists the items of a task, best first; score[task, item] is the true score (higher is better) and
    heat[worker] how sharply a worker follows it (0: guesses, below 0: reversed). `kind` is honest, random or reversed.
    """

    task: I4
    worker: I4
    order: list[list[int]]
    score: F8
    heat: F8
    kind: list[str]

    @property
    def truth(self) -> F8:
        """The true score of each item of each task."""
        return self.score


def ranking_crowd(
    tasks: int = 40,
    workers: int = 20,
    *,
    items: int = 8,
    per_task: int = 6,
    scale: float = 1.0,
    heat: float = 0.3,
    random: float = 0.0,
    reversed: float = 0.0,
    top: int | None = None,
    seed: int | np.random.Generator = 0,
) -> RankCrowd:
    """Draw a crowd that ranks lists of items by the Plackett-Luce model.

    Args:
        tasks: Number of lists.
        workers: Number of workers.
        items: Number of items in a list.
        per_task: Number of different workers of each list.
        scale: Standard deviation of the items' scores.
        heat: Standard deviation of the logarithm of the workers' heats.
        random: Share of workers who rank at random.
        reversed: Share of workers who put the worst item first.
        top: Number of places that a ranking gives (None: all).
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    score = rng.normal(0.0, scale, (tasks, items))
    kind = draw_kinds(workers, {"random": random, "reversed": reversed}, rng)
    kinds = np.array(kind)
    heats = 2 * np.exp(rng.normal(0.0, heat, workers))
    heats = np.where(kinds == "random", 0.0, np.where(kinds == "reversed", -heats, heats))
    task, worker = draw_rows(tasks, workers, per_task, rng)
    noise = rng.gumbel(size=(len(task), items))
    order = np.argsort(-(heats[worker][:, None] * score[task] + noise), axis=1)[:, :top]
    return RankCrowd(task.astype(np.int32), worker.astype(np.int32), order.tolist(), score, heats, kind)


class PlantedRankings(Planted[Votes[Rankings]]):
    """Simulated rankings with their ground truth. `truth` is the score of each item of each task.

    Args:
        planted: The crowd. Item names do not give away the true order.
        rest: Whether each ranking is followed by all other items of its task, in no order.

    >>> from crowdwise import simulate
    >>> simulate.scenario("rankings_mixed", tasks=10, workers=10, labels=4, seed=1)
    PlantedRankings(honest, random, reversed: Votes(40 rankings, 10 tasks, 10 workers))
    """

    def __init__(self, planted: RankCrowd, rest: bool = False) -> None:
        tasks, workers = numbered("t", len(planted.score)), numbered("w", len(planted.kind))
        names = numbered("i", planted.score.shape[1]).to_list()
        end = ">..." if rest else ""
        rankings = [">".join(names[i] for i in order) + end for order in planted.order]
        true_order = np.argsort(-planted.score, axis=1)
        super().__init__(
            ranking_votes(ranking=rankings, **answer_columns(planted, tasks, workers)),
            pl.DataFrame({"task": tasks, "ranking": [">".join(names[i] for i in order) for order in true_order]}),
            worker_columns(workers, planted.kind, heat=planted.heat),
            planted,
        )


def _draw(size: Size, **options: Any) -> PlantedRankings:
    crowd = ranking_crowd(size.tasks, size.workers, per_task=size.labels, seed=size.seed, **options)
    return PlantedRankings(crowd, rest="top" in options)


RANKING_SCENARIOS = scenarios(
    "rankings",
    _draw,
    {
        "rankings_plain": ("complete rankings of lists of eight items", {}),
        "rankings_top": ("lists of eight items; rankings give only the first three places", {"top": 3}),
        "rankings_random": ("rankings; a third of the workers shuffle the items", {"random": 1 / 3}),
        "rankings_reversed": ("rankings; a fifth of the workers put the worst item first", {"reversed": 0.2}),
        "rankings_mixed": (
            "rankings; three tenths of the workers shuffle the items, a tenth put the worst item first",
            {"random": 0.3, "reversed": 0.1},
        ),
    },
)
