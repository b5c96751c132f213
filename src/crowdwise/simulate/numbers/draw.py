"""Planted crowds of numeric answers: arrays, together with everything that is true about them.

>>> from crowdwise.simulate.numbers import number_crowd
>>> crowd = number_crowd(100, 20, per_task=5, constant=0.2, seed=1)
>>> len(crowd.value), sorted(set(crowd.kind))
(500, ['constant', 'honest'])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class NumberCrowd:
    """What the workers said, sorted by task and worker, and what nobody but a simulator knows.

    An honest worker says centre + slope * (truth - centre) + bias + noise of standard deviation spread, rounded to
    multiples of `step` (0: not rounded). `kind` is honest, constant, random, reversed or copier, `copies[worker]` whom
    they copy (-1: nobody).
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
) -> NumberCrowd:
    """Truth ~ N(centre, scale²); biases, slopes (around 1) and noise drawn, in units of scale.

    `bias` and `slope` are standard deviations, `noise` the ends of a log-uniform draw, `heavy` the degrees of freedom
    of Student noise. `constant`, `random`, `reversed`, `copier` are shares of the workers. `steps` are what workers
    round to, one each; `limits` are the ends of the scale.
    """
    rng = np.random.default_rng(seed)
    truth = rng.normal(centre, scale, tasks)
    if limits is not None:
        truth = np.clip(truth, *limits)
    kind = _kinds(workers, {"constant": constant, "random": random, "reversed": reversed, "copier": copier}, rng)
    by = np.array(kind)
    slopes = rng.normal(1.0, slope, workers)
    slopes = np.where(by == "reversed", -np.abs(slopes), np.where(np.isin(by, ["constant", "random"]), 0.0, slopes))
    biases = scale * rng.normal(0.0, bias, workers)
    spread = scale * np.exp(rng.uniform(np.log(noise[0]), np.log(noise[1]), workers))
    spread = np.where(by == "constant", 0.01 * scale, np.where(by == "random", scale, spread))
    step = rng.choice(np.asarray(steps, dtype=np.float64), workers) if len(steps) else np.zeros(workers)
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1)
    task = np.repeat(np.arange(tasks), per_task)
    worker = worker.ravel()
    error = rng.normal(size=len(task)) if heavy is None else rng.standard_t(heavy, size=len(task))
    value = centre + slopes[worker] * (truth[task] - centre) + biases[worker] + spread[worker] * error
    value = _on_scale(value, step[worker], limits)
    copies = _copy(by, rng)
    value = _copied(task, worker, value, copies)
    return NumberCrowd(
        task.astype(np.int32), worker.astype(np.int32), value, truth, centre, biases, slopes, spread, step, kind, copies
    )


def _kinds(workers: int, shares: dict[str, float], rng: np.random.Generator) -> list[str]:
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    return [kinds[i] for i in rng.permutation(workers)]


def _on_scale(value: F8, step: F8, limits: tuple[float, float] | None) -> F8:
    value = np.where(step > 0, np.round(value / np.where(step > 0, step, 1.0)) * step, value)
    return value if limits is None else np.clip(value, *limits)


def _copy(kind: npt.NDArray[np.str_], rng: np.random.Generator) -> I4:
    """Whom each copier copies: an honest worker each."""
    out = np.full(len(kind), -1, dtype=np.int32)
    honest, copiers = np.flatnonzero(kind == "honest"), np.flatnonzero(kind == "copier")
    if len(honest) and len(copiers):
        out[copiers] = rng.choice(honest, len(copiers), replace=len(copiers) > len(honest))
    return out


def _copied(task: npt.NDArray[np.int64], worker: npt.NDArray[np.int64], value: F8, copies: I4) -> F8:
    """Copiers say what their source said where it answered the same task, and their own answer elsewhere."""
    if not (copies >= 0).any():
        return value
    n = len(copies)
    key = task * n + worker
    source = task * n + copies[worker]
    at = np.minimum(np.searchsorted(key, source), len(key) - 1)
    found = (copies[worker] >= 0) & (key[at] == source)
    return np.where(found, value[at], value)
