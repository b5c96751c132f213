"""Planted crowds that draw boxes on pictures, together with everything that is true about them.

>>> from crowdwise.kinds.boxes.simulate import box_crowd
>>> crowd = box_crowd(30, 10, per_task=4, random=0.2, seed=1)
>>> len(crowd.size), sorted(set(crowd.kind))
(120, ['honest', 'random'])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from .answers import Boxes, box_votes

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


# ---------------------------------------------------------------- Ready-made crowds that draw boxes, by name


@dataclass(frozen=True, eq=False, repr=False)
class PlantedBoxes:
    """What the workers drew, and what nobody but a simulator knows; `planted` holds it as arrays.

    >>> from crowdwise import simulate
    >>> simulate.scenario("boxes_random", tasks=20, workers=10, seed=1)
    PlantedBoxes(honest, random: Votes(100 answers with boxes, 20 tasks, 10 workers))
    """

    planted: BoxCrowd

    def __repr__(self) -> str:
        return f"PlantedBoxes({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @property
    def tags(self) -> pl.Series:
        """Names of the classes; one that is "" where there are none."""
        n = int(max(self.planted.tag.max(initial=0), self.planted.true_tag.max(initial=0))) + 1
        return pl.Series("tag", [""] if n == 1 else [f"c{i}" for i in range(n)], dtype=pl.String)

    @cached_property
    def votes(self) -> Votes[Boxes]:
        """What the workers drew."""
        crowd = self.planted
        tasks, workers = (
            pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])
            for mark, n in (("t", len(crowd.true_size)), ("w", len(crowd.kind)))
        )
        text = Boxes(crowd.size, crowd.corner, crowd.tag, self.tags).columns()["boxes"]
        votes = box_votes(tasks.gather(crowd.task), workers.gather(crowd.worker), text, tasks=tasks, workers=workers)
        size = pl.DataFrame({"task": tasks}).with_columns(width=pl.lit(WIDTH), height=pl.lit(HEIGHT))
        return votes.about(tasks=size)

    @property
    def annotations(self) -> Votes[Boxes]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, random, idle or whole."""
        return self.planted.kind

    def truth_table(self) -> pl.DataFrame:
        """The table task, boxes."""
        crowd = self.planted
        boxes = Boxes(crowd.true_size, crowd.true_corner, crowd.true_tag, self.tags).columns()["boxes"]
        return pl.DataFrame({"task": self.votes.tasks, "boxes": boxes})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, recall, extra, spread."""
        crowd = self.planted
        return pl.DataFrame(
            {
                "worker": self.votes.workers,
                "kind": pl.Series(self.kind, dtype=pl.String),
                "recall": np.round(crowd.recall, 4),
                "extra": np.round(crowd.extra, 4),
                "spread": np.round(crowd.spread, 4),
            }
        )

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written."""
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class BoxScenario:
    """A ready-made crowd that draws boxes: one line about it, and what `box_crowd` is told."""

    description: str
    told: Mapping[str, Any] = field(default_factory=dict)

    def make(
        self,
        n_tasks: int,
        n_workers: int,
        n_classes: int | None,
        labels_per_task: int,
        n_features: int = 0,
        seed: int = 0,
    ) -> PlantedBoxes:
        """A crowd of this size."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        if n_features:
            raise ParameterError(f"features={n_features} does not go with boxes; leave it out")
        told = {**self.told, **({} if n_classes is None else {"classes": n_classes})}
        return PlantedBoxes(box_crowd(n_tasks, n_workers, per_task=labels_per_task, **told, seed=seed))


BOX_SCENARIOS: dict[str, BoxScenario] = {
    "boxes_plain": BoxScenario("boxes on pictures: objects missed, boxes too many, sides a little off"),
    "boxes_classes": BoxScenario("boxes of three classes", {"classes": 3}),
    "boxes_random": BoxScenario("boxes; a fifth draw them anywhere", {"random": 0.2}),
    "boxes_idle": BoxScenario("boxes; a fifth never draw any", {"idle": 0.2}),
    "boxes_whole": BoxScenario("boxes; a fifth always draw one round the whole picture", {"whole": 0.2}),
    "boxes_crowded": BoxScenario("boxes; twenty objects a picture", {"objects": 20.0}),
}
