"""Planted crowds that say whether two items are the same, together with everything that is true about them.

>>> from crowdwise.simulate.similarities.draw import pair_crowd
>>> crowd = pair_crowd(100, 20, random=0.2, seed=1)
>>> len(crowd.same), sorted(set(crowd.kind))
(500, ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SameCrowd:
    """What the workers said, and what nobody but a simulator knows: cluster[item], each worker's coins and kind
    (honest, random, constant, adversarial)."""

    task: I8
    worker: I8
    left: I8
    right: I8
    same: npt.NDArray[np.int8]
    cluster: I8
    hit: F8
    rejection: F8
    kind: list[str]


def pair_crowd(
    tasks: int = 1000,
    workers: int = 40,
    *,
    clusters: int = 4,
    items: int | None = None,
    per_task: int = 5,
    coins: tuple[float, float] = (0.7, 0.95),
    random: float = 0.0,
    constant: float = 0.0,
    adversarial: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> SameCrowd:
    """`tasks` pairs of `items` (an eighth as many unless said), the first ones a ring through all of them; coins are
    drawn between the two given; `random`, `constant`, `adversarial` are shares of the workers."""
    rng = np.random.default_rng(seed)
    n = max(3, tasks // 8) if items is None else items
    cluster = rng.permutation(np.arange(n) % clusters)
    ring = rng.permutation(n)
    left = np.concatenate([ring, rng.integers(0, n, max(tasks - n, 0))])[:tasks]
    right = np.concatenate([np.roll(ring, 1), (left[n:] + rng.integers(1, n, max(tasks - n, 0))) % n])[:tasks]
    shares = {"random": random, "constant": constant, "adversarial": adversarial}
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    kind = [kinds[i] for i in rng.permutation(workers)]
    by = np.array(kind)
    hit, rejection = rng.uniform(*coins, workers), rng.uniform(*coins, workers)
    for name, one, two in (("random", 0.5, 0.5), ("constant", 1.0, 0.0)):
        hit, rejection = np.where(by == name, one, hit), np.where(by == name, two, rejection)
    hit, rejection = (np.where(by == "adversarial", 1 - coin, coin) for coin in (hit, rejection))
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    together = cluster[left[task]] == cluster[right[task]]
    says = rng.random(len(task)) < np.where(together, hit[worker], 1 - rejection[worker])
    return SameCrowd(task, worker, left[task], right[task], says.astype(np.int8), cluster, hit, rejection, kind)
