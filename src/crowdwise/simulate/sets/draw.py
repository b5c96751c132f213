"""Planted crowds of label sets: arrays, together with everything that is true about them.

>>> from crowdwise.simulate.sets import set_crowd
>>> crowd = set_crowd(100, 20, 8, per_task=3, random=0.2, seed=1)
>>> crowd.said.shape, sorted(set(crowd.kind))
((300, 8), ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SetCrowd:
    """What the workers said, sorted by task and worker, and what nobody but a simulator knows.

    An honest worker names a class that is true with chance hits[worker, class], and another with alarms[worker, class].
    offered[task, class] says what could be named (None: everything). `kind` is honest, constant (always the same set),
    random (a set that has nothing to do with the task) or copier; `copies[worker]` is whom they copy (-1: nobody).
    """

    task: I4
    worker: I4
    said: Mask
    truth: Mask
    rate: F8
    hits: F8
    alarms: F8
    kind: list[str]
    copies: I4
    offered: Mask | None = None


def set_crowd(
    tasks: int = 500,
    workers: int = 60,
    classes: int = 30,
    *,
    per_task: int = 3,
    size: float = 1.3,
    uneven: float = 0.7,
    hit: float = 0.62,
    alarm: float = 0.015,
    of_class: float = 0.8,
    of_worker: float = 1.0,
    of_both: float = 0.3,
    offered: float = 1.0,
    constant: float = 0.0,
    random: float = 0.0,
    copier: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> SetCrowd:
    """Sets of `size` classes on average, some classes more common than others (`uneven`: sd of the logits of rates).

    logit hits = logit `hit` + an effect of the class + one of the worker + one of both, of these standard deviations;
    the same for `alarm`. `offered` is the share of classes on a task's menu; `constant`, `random` and `copier` are
    shares of the workers.
    """
    rng = np.random.default_rng(seed)
    rate = expit(rng.normal(logit(min(size / classes, 0.5)), uneven, classes))
    truth = rng.random((tasks, classes)) < rate
    hits, alarms = (
        expit(
            logit(middle)
            + rng.normal(0, of_class, classes)
            + rng.normal(0, of_worker, workers)[:, None]
            + rng.normal(0, of_both, (workers, classes))
        )
        for middle in (hit, alarm)
    )
    kind = _kinds(workers, {"constant": constant, "random": random, "copier": copier}, rng)
    by = np.array(kind)
    named = np.clip(rate, 0.02, None)
    idle = by == "random"
    hits[idle], alarms[idle] = named, named
    task = np.repeat(np.arange(tasks), per_task)
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    said = rng.random((len(task), classes)) < np.where(truth[task], hits[worker], alarms[worker])
    fixed = np.eye(classes, dtype=bool)[rng.integers(classes, size=workers)]
    said = np.where((by == "constant")[worker][:, None], fixed[worker], said)
    menu = None
    if offered < 1:
        menu = rng.random((tasks, classes)) < offered
        said &= menu[task]
    copies = _copy(by, rng)
    said = _copied(task, worker, said, copies)
    return SetCrowd(task.astype(np.int32), worker.astype(np.int32), said, truth, rate, hits, alarms, kind, copies, menu)


def _kinds(workers: int, shares: dict[str, float], rng: np.random.Generator) -> list[str]:
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    return [kinds[i] for i in rng.permutation(workers)]


def _copy(kind: npt.NDArray[np.str_], rng: np.random.Generator) -> I4:
    """Whom each copier copies: an honest worker each."""
    out = np.full(len(kind), -1, dtype=np.int32)
    honest, copiers = np.flatnonzero(kind == "honest"), np.flatnonzero(kind == "copier")
    if len(honest) and len(copiers):
        out[copiers] = rng.choice(honest, len(copiers), replace=len(copiers) > len(honest))
    return out


def _copied(task: npt.NDArray[np.int64], worker: npt.NDArray[np.int64], said: Mask, copies: I4) -> Mask:
    """Copiers say what their source said where it answered the same task, and their own set elsewhere."""
    if not (copies >= 0).any():
        return said
    n = len(copies)
    key, source = task * n + worker, task * n + copies[worker]
    at = np.minimum(np.searchsorted(key, source), len(key) - 1)
    found = (copies[worker] >= 0) & (key[at] == source)
    return np.where(found[:, None], said[at], said)
