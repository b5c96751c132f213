"""Planted crowds that say which of two items is more like a third, together with everything that is true about them.

>>> from crowdwise.simulate.triplets.draw import triplet_crowd
>>> crowd = triplet_crowd(100, 20, random=0.2, seed=1)
>>> len(crowd.side), sorted(set(crowd.kind))
(500, ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TripletCrowd:
    """What the workers said, and what nobody but a simulator knows: place[item, axis], each worker's slope and kind
    (honest, random, constant, adversarial)."""

    task: I8
    worker: I8
    head: I8
    left: I8
    right: I8
    side: npt.NDArray[np.int8]
    place: F8
    slope: F8
    kind: list[str]


def triplet_crowd(
    tasks: int = 1000,
    workers: int = 40,
    *,
    items: int | None = None,
    dimensions: int = 2,
    per_task: int = 5,
    slope: float = 0.25,
    random: float = 0.0,
    constant: float = 0.0,
    adversarial: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> TripletCrowd:
    """Items ~ N(0, 1.5²) on the first axis and half as wide on each further one; a worker says left with log-odds slope
    x (|head - right|² - |head - left|²). `random`, `constant`, `adversarial` are shares of the workers."""
    rng = np.random.default_rng(seed)
    n = int(np.clip(tasks // 20, 5, 60)) if items is None else items
    place = rng.normal(size=(n, dimensions)) * 1.5 / 2.0 ** np.arange(dimensions)
    three = np.argsort(rng.random((tasks, n)), axis=1)[:, :3]
    shares = {"random": random, "constant": constant, "adversarial": adversarial}
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    kind = [kinds[i] for i in rng.permutation(workers)]
    by = np.array(kind)
    slopes = np.exp(rng.normal(0.0, slope, workers))
    slopes = np.where(by == "adversarial", -slopes, np.where(np.isin(by, ["random", "constant"]), 0.0, slopes))
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    turned = rng.random(len(task)) < 0.5
    head = three[task, 0]
    left, right = np.where(turned, three[task, 2], three[task, 1]), np.where(turned, three[task, 1], three[task, 2])
    a, b = (((place[head] - place[other]) ** 2).sum(axis=1) for other in (left, right))
    odds = slopes[worker] * (b - a) + np.where(by == "constant", 30.0, 0.0)[worker]
    side = (rng.random(len(task)) > 1 / (1 + np.exp(-np.clip(odds, -50, 50)))).astype(np.int8)
    return TripletCrowd(task, worker, head, left, right, side, place, slopes, kind)
