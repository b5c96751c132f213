"""Planted crowds of ordered classes: levels that workers see too high or too low, and more or less sharply.

>>> from crowdwise.simulate.ordered import ordered_crowd
>>> crowd = ordered_crowd(100, 20, 5, per_task=5, constant=0.2, seed=1)
>>> len(crowd.level), sorted(set(crowd.kind))
(500, ['constant', 'honest'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class OrderedCrowd:
    """What the workers said (`level`), sorted by task and worker, and what nobody but a simulator knows.

    An honest worker says the level into which truth + bias + scale · logistic noise falls. `kind` is honest, constant,
    random or reversed (who has the ladder upside down).
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
    """True levels drawn evenly, or unevenly (`uneven`: sd of their logits); biases of this standard deviation, scales
    log-uniform between these ends, in steps. `constant`, `random` and `reversed` are shares of the workers."""
    rng = np.random.default_rng(seed)
    share = np.exp(rng.normal(0, uneven, levels))
    truth = rng.choice(levels, tasks, p=share / share.sum())
    kind = _kinds(workers, {"constant": constant, "random": random, "reversed": reversed}, rng)
    by = np.array(kind)
    biases = rng.normal(0, bias, workers)
    scales = np.exp(rng.uniform(np.log(scale[0]), np.log(scale[1]), workers))
    favourite = rng.integers(levels, size=workers)
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    seen = truth[task] + biases[worker] + scales[worker] * rng.logistic(size=len(task))
    level = np.clip(np.round(seen), 0, levels - 1)
    level = np.where((by == "reversed")[worker], levels - 1 - level, level)
    level = np.where((by == "constant")[worker], favourite[worker], level)
    level = np.where((by == "random")[worker], rng.integers(levels, size=len(task)), level)
    return OrderedCrowd(
        task.astype(np.int32), worker.astype(np.int32), level.astype(np.int32), truth.astype(np.int32), biases, scales,
        kind,
    )  # fmt: skip


def _kinds(workers: int, shares: dict[str, float], rng: np.random.Generator) -> list[str]:
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    return [kinds[i] for i in rng.permutation(workers)]
