"""Planted crowds that draw boxes on pictures, together with everything that is true about them.

>>> from crowdwise.simulate.boxes.draw import box_crowd
>>> crowd = box_crowd(30, 10, per_task=4, random=0.2, seed=1)
>>> len(crowd.size), sorted(set(crowd.kind))
(120, ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

WIDTH, HEIGHT = 1280.0, 720.0


@dataclass(frozen=True, eq=False)
class BoxCrowd:
    """What the workers drew, and what nobody but a simulator knows.

    Rows (task, worker) hold size[row] boxes each. An honest worker draws an object with chance `recall`, each side off
    by a bias and noise `spread` in units of the object's own side, and `extra` boxes a picture that are not there;
    `kind` is honest, random (boxes anywhere), idle (never draws) or whole (always one box round the whole picture).
    """

    task: I8
    worker: I8
    size: I8
    corner: F8
    tag: I8
    true_size: I8
    true_corner: F8
    true_tag: I8
    recall: F8
    extra: F8
    bias: F8
    spread: F8
    kind: list[str]


def box_crowd(
    tasks: int = 300,
    workers: int = 30,
    *,
    classes: int = 1,
    per_task: int = 5,
    objects: float = 2.0,
    recall: float = 0.9,
    extra: float = 0.1,
    bias: float = 0.03,
    spread: float = 0.06,
    mistaken: float = 0.05,
    random: float = 0.0,
    idle: float = 0.0,
    whole: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> BoxCrowd:
    """`objects` a picture on average; `recall` and `extra` are the crowd's means, `mistaken` the chance of another
    class; `random`, `idle`, `whole` are shares of the workers."""
    rng = np.random.default_rng(seed)
    true_size = rng.poisson(objects, tasks).astype(np.int64)
    true_corner = _anywhere(int(true_size.sum()), rng)
    true_tag = rng.integers(0, classes, len(true_corner))
    shares = {"random": random, "idle": idle, "whole": whole}
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    kind = [kinds[i] for i in rng.permutation(workers)]
    hit = rng.beta(20 * recall, 20 * (1 - recall), workers)
    more = extra * rng.gamma(2.0, 0.5, workers)
    side = rng.normal(0.0, bias, (workers, 4))
    noise = spread * np.exp(rng.normal(0.0, 0.4, workers))
    worker = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    honest = np.array([k == "honest" for k in kind])[worker]
    begin = np.concatenate([[0], np.cumsum(true_size)[:-1]])
    row = np.repeat(np.arange(len(task)), true_size[task] * honest)
    thing = np.arange(len(row)) - np.repeat(
        np.concatenate([[0], np.cumsum(true_size[task] * honest)[:-1]]) - begin[task], true_size[task] * honest
    )
    seen = rng.random(len(row)) < hit[worker[row]]
    row, thing = row[seen], thing[seen]
    unit = np.tile(true_corner[thing, 2:] - true_corner[thing, :2], 2)
    off = side[worker[row]] + rng.normal(size=(len(row), 4)) * noise[worker[row], None]
    drawn = true_corner[thing] + np.clip(off, -0.4, 0.4) * unit
    wrong = rng.random(len(row)) < mistaken
    tag = np.where(wrong, rng.integers(0, classes, len(row)), true_tag[thing])
    rate = np.where(honest, more[worker], 0.0) + objects * np.array([k == "random" for k in kind])[worker]
    spare = np.repeat(np.arange(len(task)), rng.poisson(rate))
    full = np.flatnonzero(np.array([k == "whole" for k in kind])[worker])
    row = np.concatenate([row, spare, full])
    picture = np.tile([0.0, 0.0, WIDTH, HEIGHT], (len(full), 1))
    corner = np.concatenate([drawn, _anywhere(len(spare), rng), picture])
    tag = np.concatenate([tag, rng.integers(0, classes, len(spare) + len(full))])
    order = np.argsort(row, kind="stable")
    size = np.bincount(row, minlength=len(task))
    return BoxCrowd(
        task, worker, size, np.round(corner[order], 1), tag[order], true_size, np.round(true_corner, 1), true_tag,
        hit, more, side, noise, kind,
    )  # fmt: skip


def _anywhere(n: int, rng: np.random.Generator) -> F8:
    """Boxes of 40 to 200 pixels somewhere on the picture."""
    side = rng.uniform(40, 200, (n, 2))
    low = rng.uniform(0, 1, (n, 2)) * (np.array([WIDTH, HEIGHT]) - side)
    return np.concatenate([low, low + side], axis=1)
