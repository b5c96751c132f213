"""Ready-made crowds that draw boxes, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from ...kinds.boxes.answers import Boxes, box_votes
from .draw import HEIGHT, WIDTH, BoxCrowd, box_crowd


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
