"""The crowd of the deepBP paper: one-coin workers on a regular graph, and extreme spammers who label everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from crowdwise import Annotations
from crowdwise.kinds.classes.simulate.assignment import Regular
from crowdwise.kinds.classes.simulate.groups import OneCoin
from crowdwise.simulate import crowd

I4 = npt.NDArray[np.int32]


def regular_crowd(
    seed: int, alpha: tuple[float, float], *, spammers: int = 0, n: int = 1000, labels: int = 3, load: int = 4,
    truth: Any = None,
) -> tuple[Annotations, I4]:  # fmt: skip
    """Votes of one-coin workers with Beta(alpha) accuracy; the truth as class codes. Spammers guess evenly."""
    workers = -(-n * labels // load)
    made = crowd(n, 2, [OneCoin(workers, low=0.0, high=1.0, beta=alpha)], Regular(labels, load), truth=truth, seed=seed)
    votes = made.annotations
    rng = np.random.default_rng([seed, 7])
    task = [votes.task, *(np.arange(n) for _ in range(spammers))]
    worker = [votes.worker, *(np.full(n, workers + s) for s in range(spammers))]
    label = [votes.label, *(rng.integers(0, 2, n) for _ in range(spammers))]
    joined = Annotations.from_arrays(*map(np.concatenate, (task, worker, label)), classes=[0, 1])
    return joined, made.truth
