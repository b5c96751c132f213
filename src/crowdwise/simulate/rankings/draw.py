"""Planted crowds that rank lists of items.

>>> from crowdwise.simulate.rankings.draw import ranking_crowd
>>> crowd = ranking_crowd(40, 20, per_task=6, random=0.3, seed=1)
>>> len(crowd.order), sorted(set(crowd.kind))
(240, ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RankCrowd:
    """order[row]: items of the task, best first; score[task, item]: higher is better; heat[worker]: how sharply they
    see the scores (0: guess, below 0: upside down). `kind` is honest, random or reversed."""

    task: I4
    worker: I4
    order: list[list[int]]
    score: F8
    heat: F8
    kind: list[str]


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
    """Scores ~ N(0, scale²); a ranking is drawn from Plackett and Luce's model with the worker's heat, whose logarithm
    is spread by `heat`. `random` and `reversed` are shares of the workers; `top`: only so many places are given."""
    rng = np.random.default_rng(seed)
    score = rng.normal(0.0, scale, (tasks, items))
    shares = {"random": random, "reversed": reversed}
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    kind = [kinds[i] for i in rng.permutation(workers)]
    by = np.array(kind)
    heats = 2 * np.exp(rng.normal(0.0, heat, workers))
    heats = np.where(by == "random", 0.0, np.where(by == "reversed", -heats, heats))
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    noise = rng.gumbel(size=(len(task), items))
    order = np.argsort(-(heats[worker][:, None] * score[task] + noise), axis=1)[:, :top]
    return RankCrowd(task.astype(np.int32), worker.astype(np.int32), order.tolist(), score, heats, kind)
