"""Planted crowds that compare items, together with everything that is true about them.

>>> from crowdwise.simulate.comparisons.draw import comparison_crowd
>>> crowd = comparison_crowd(100, 20, per_task=5, random=0.2, seed=1)
>>> len(crowd.outcome), sorted(set(crowd.kind))
(500, ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PairCrowd:
    """What the workers said, and what nobody but a simulator knows.

    An honest worker says left, right or tie with log-odds a, -a, tie, where a = (slope (score_left - score_right) +
    position) / 2. `kind` is honest, random (a coin), reversed (slope below 0) or constant (always the left side).
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
) -> PairCrowd:
    """Scores ~ N(0, scale²); `tasks` pairs of `items` (an eighth as many, unless said), the first ones a ring that ties
    all items together. `slope` is the spread of the log of slopes, `ties` the mean of a worker's liking for ties (None:
    nobody says so); `random`, `reversed`, `constant` are shares of the workers."""
    rng = np.random.default_rng(seed)
    k = max(3, tasks // 8) if items is None else items
    score = rng.normal(0.0, scale, k)
    ring = rng.permutation(k)
    one = np.concatenate([ring, rng.integers(0, k, max(tasks - k, 0))])[:tasks]
    two = np.concatenate([np.roll(ring, 1), (one[k:] + rng.integers(1, k, max(tasks - k, 0))) % k])[:tasks]
    shares = {"random": random, "reversed": reversed, "constant": constant}
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    kind = [kinds[i] for i in rng.permutation(workers)]
    by = np.array(kind)
    slopes = np.exp(rng.normal(0.0, slope, workers))
    slopes = np.where(by == "reversed", -slopes, np.where(np.isin(by, ["random", "constant"]), 0.0, slopes))
    pull = np.where(by == "constant", 12.0, np.where(by == "random", 0.0, rng.normal(0.0, position, workers)))
    tie = np.full(workers, -np.inf) if ties is None else rng.normal(ties, 0.7, workers)
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    turned = rng.random(len(task)) < 0.5
    left, right = np.where(turned, two[task], one[task]), np.where(turned, one[task], two[task])
    a = (slopes[worker] * (score[left] - score[right]) + pull[worker]) / 2
    odds = np.exp(np.stack([a, -a, tie[worker]], axis=1) - np.abs(a)[:, None])
    edges = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    outcome = np.minimum((rng.random(len(task))[:, None] > edges).sum(axis=1), 2).astype(np.int8)
    t, w, one, two = (x.astype(np.int32) for x in (task, worker, left, right))
    return PairCrowd(t, w, one, two, outcome, score, slopes, pull, tie, kind)
