"""Simulated crowds that draw boxes on images.

>>> from crowdwise.kinds.boxes.simulate import box_crowd
>>> crowd = box_crowd(30, 10, per_task=4, random=0.2, seed=1)
>>> len(crowd.size), sorted(set(crowd.kind))
(120, ['honest', 'random'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8
from ...core.votes import Votes
from ...simulate.draws import draw_kinds, draw_workers, numbered
from ...simulate.planted import Planted, answer_columns, planted_by, scenarios, worker_columns
from ...stats.ragged import spread, starts
from .answers import Boxes, box_votes

WIDTH, HEIGHT = 1280.0, 720.0


@dataclass(frozen=True, eq=False)
class BoxCrowd:
    """The boxes of a simulated crowd and the parameters behind them.

    Rows (task, worker) hold size[row] boxes each. An honest worker draws an object with probability `recall`, shifts
    each side by a bias and noise of `spread` in units of the object's own side, and adds `extra` boxes per image that
    are not there. `kind` is honest, random (boxes anywhere), idle (never draws) or whole (always one box around the
    whole image).
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
    hard: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> BoxCrowd:
    """Draw a crowd that draws boxes on images.

    Args:
        tasks: Number of images.
        workers: Number of workers.
        classes: Number of classes.
        per_task: Number of different workers of each image.
        objects: Mean number of objects in an image.
        recall: Mean probability of drawing an object.
        extra: Mean number of boxes per image that are not there.
        bias: Standard deviation of the workers' biases of each side.
        spread: Median standard deviation of the noise of each side.
        mistaken: Probability of a random class.
        random: Share of workers who draw boxes anywhere.
        idle: Share of workers who never draw a box.
        whole: Share of workers who always draw one box around the whole image.
        hard: Standard deviation of the difficulty of images, on the scale of the log odds of drawing an object.
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    true_size = rng.poisson(objects, tasks).astype(np.int64)
    true_corner = _boxes_anywhere(int(true_size.sum()), rng)
    true_tag = rng.integers(0, classes, len(true_corner))
    kind = draw_kinds(workers, {"random": random, "idle": idle, "whole": whole}, rng)
    kinds = np.array(kind)
    hit = rng.beta(20 * recall, 20 * (1 - recall), workers)
    n_extra = extra * rng.gamma(2.0, 0.5, workers)
    side = rng.normal(0.0, bias, (workers, 4))
    noise = spread * np.exp(rng.normal(0.0, 0.4, workers))
    worker = draw_workers(tasks, workers, per_task, rng).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    honest = (kinds == "honest")[worker]
    row, target = _targets(true_size, task, honest)
    chance = hit[worker[row]]
    if hard > 0:
        chance = 1 / (1 + np.exp(rng.normal(0.0, hard, tasks)[task[row]] - np.log(chance / (1 - chance))))
    is_drawn = rng.random(len(row)) < chance
    row, target = row[is_drawn], target[is_drawn]
    unit = np.tile(true_corner[target, 2:] - true_corner[target, :2], 2)
    shift = side[worker[row]] + rng.normal(size=(len(row), 4)) * noise[worker[row], None]
    drawn = true_corner[target] + np.clip(shift, -0.4, 0.4) * unit
    is_wrong = rng.random(len(row)) < mistaken
    tag = np.where(is_wrong, rng.integers(0, classes, len(row)), true_tag[target])
    rate = np.where(honest, n_extra[worker], 0.0) + objects * (kinds == "random")[worker]
    extra_row = np.repeat(np.arange(len(task)), rng.poisson(rate))
    whole_row = np.flatnonzero((kinds == "whole")[worker])
    row = np.concatenate([row, extra_row, whole_row])
    image = np.tile([0.0, 0.0, WIDTH, HEIGHT], (len(whole_row), 1))
    corner = np.concatenate([drawn, _boxes_anywhere(len(extra_row), rng), image])
    tag = np.concatenate([tag, rng.integers(0, classes, len(extra_row) + len(whole_row))])
    order = np.argsort(row, kind="stable")
    size = np.bincount(row, minlength=len(task))
    return BoxCrowd(
        task, worker, size, np.round(corner[order], 1), tag[order], true_size, np.round(true_corner, 1), true_tag,
        hit, n_extra, side, noise, kind,
    )  # fmt: skip


def _targets(true_size: I8, task: I8, honest: npt.NDArray[np.bool_]) -> tuple[I8, I8]:
    """(row, object) of each object that an honest worker might draw."""
    n_objects = true_size[task] * honest
    return spread(starts(true_size)[task], n_objects)


def _boxes_anywhere(n: int, rng: np.random.Generator) -> F8:
    """Boxes of 40 to 200 pixels at random places of the image."""
    side = rng.uniform(40, 200, (n, 2))
    low = rng.uniform(0, 1, (n, 2)) * (np.array([WIDTH, HEIGHT]) - side)
    return np.concatenate([low, low + side], axis=1)


class PlantedBoxes(Planted[Votes[Boxes]]):
    """Simulated boxes with their ground truth. `truth` holds the true boxes of all images.

    >>> from crowdwise import simulate
    >>> simulate.scenario("boxes_random", tasks=20, workers=10, seed=1)
    PlantedBoxes(honest, random: Votes(100 answers with boxes, 20 tasks, 10 workers))
    """

    def __init__(self, planted: BoxCrowd) -> None:
        tasks, workers = numbered("t", len(planted.true_size)), numbered("w", len(planted.kind))
        n_tags = int(max(planted.tag.max(initial=0), planted.true_tag.max(initial=0))) + 1
        self.tags = pl.Series("tag", [""] if n_tags == 1 else [f"c{i}" for i in range(n_tags)], dtype=pl.String)
        drawn = Boxes(planted.size, planted.corner, planted.tag, self.tags)
        self._true_boxes = Boxes(planted.true_size, planted.true_corner, planted.true_tag, self.tags)
        votes = box_votes(boxes=drawn.columns()["boxes"], **answer_columns(planted, tasks, workers))
        image_size = pl.DataFrame({"task": tasks}).with_columns(width=pl.lit(WIDTH), height=pl.lit(HEIGHT))
        parameters = {name: np.round(getattr(planted, name), 4) for name in ("recall", "extra", "spread")}
        super().__init__(
            votes.about(tasks=image_size),
            pl.DataFrame({"task": tasks, "boxes": self._true_boxes.columns()["boxes"]}),
            worker_columns(workers, planted.kind, **parameters),
            planted,
        )

    @property
    def truth(self) -> Boxes:
        """The true boxes of all images, one row an image."""
        return self._true_boxes


BOX_SCENARIOS = scenarios(
    "boxes",
    planted_by(box_crowd, PlantedBoxes),
    {
        "boxes_plain": ("boxes on images: missed objects, extra boxes, inexact sides", {}),
        "boxes_classes": ("boxes of three classes", {"classes": 3}),
        "boxes_random": ("boxes; a fifth of the workers draw them anywhere", {"random": 0.2}),
        "boxes_idle": ("boxes; a fifth of the workers never draw any", {"idle": 0.2}),
        "boxes_whole": ("boxes; a fifth of the workers always draw one around the whole image", {"whole": 0.2}),
        "boxes_crowded": ("boxes; twenty objects per image", {"objects": 20.0}),
    },
    takes=("classes",),
)
