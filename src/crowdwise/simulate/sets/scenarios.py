"""Ready-made crowds of label sets by name: votes, the truth, and who was planted as what."""

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
from ...kinds.sets.answers import Sets, as_json
from ...kinds.sets.votes import set_votes
from .draw import SetCrowd, set_crowd


@dataclass(frozen=True, eq=False, repr=False)
class PlantedSets:
    """What the workers said, and what nobody but a simulator knows: the counterpart of `Crowd` for label sets.

    >>> from crowdwise import simulate
    >>> simulate.scenario("sets_random", tasks=20, workers=10, classes=6, seed=1)
    PlantedSets(honest, random: Votes(100 label sets, 20 tasks, 10 workers))
    """

    planted: SetCrowd

    def __repr__(self) -> str:
        return f"PlantedSets({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @cached_property
    def votes(self) -> Votes[Sets]:
        """What the workers said."""
        tasks, workers, classes = (
            pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])
            for mark, n in zip("twc", (len(self.truth), len(self.kind), self.truth.shape[1]), strict=True)
        )
        offered = None
        if self.planted.offered is not None:
            offered = _lists(self.planted.offered[self.planted.task], classes)
        return set_votes(
            tasks.gather(self.planted.task),
            workers.gather(self.planted.worker),
            _lists(self.planted.said, classes),
            offered=offered,
            classes=classes,
            tasks=tasks,
            workers=workers,
        )

    @property
    def annotations(self) -> Votes[Sets]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def truth(self) -> Any:
        """truth[task, class]."""
        return self.planted.truth

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, constant, random or copier."""
        return self.planted.kind

    @property
    def copies(self) -> list[str | None]:
        """Whom each worker copies."""
        names = self.votes.workers.to_list()
        return [names[at] if at >= 0 else None for at in self.planted.copies.tolist()]

    def truth_table(self) -> pl.DataFrame:
        """The table task, labels."""
        return pl.DataFrame({"task": self.votes.tasks, "labels": _lists(self.truth, self.votes.answers.classes)})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, copies, and their mean hits and alarms."""
        return pl.DataFrame(
            {
                "worker": self.votes.workers,
                "kind": pl.Series(self.kind, dtype=pl.String),
                "copies": pl.Series(self.copies, dtype=pl.String),
                "hits": self.planted.hits.mean(axis=1),
                "alarms": self.planted.alarms.mean(axis=1),
            }
        )

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written."""
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


def _lists(member: Any, classes: pl.Series) -> pl.Series:
    row, code = np.nonzero(member)
    return as_json(np.searchsorted(row, np.arange(len(member) + 1)), code.astype(np.int32), classes, "labels")


@dataclass(frozen=True)
class SetScenario:
    """A ready-made crowd of label sets: one line about it, and what `set_crowd` is told."""

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
    ) -> PlantedSets:
        """A crowd of this size; of 30 classes unless said."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        if n_features:
            raise ParameterError(f"features={n_features} does not go with label sets; leave it out")
        k = 30 if n_classes is None else n_classes
        return PlantedSets(set_crowd(n_tasks, n_workers, k, per_task=labels_per_task, **self.told, seed=seed))


SET_SCENARIOS: dict[str, SetScenario] = {
    "sets_plain": SetScenario("label sets: classes are missed and workers miss to different degrees"),
    "sets_alike": SetScenario(
        "label sets; all classes and workers alike", {"of_class": 0, "of_worker": 0, "of_both": 0}
    ),
    "sets_random": SetScenario("label sets; a fifth know nothing of the task", {"random": 0.2}),
    "sets_constants": SetScenario("label sets; a fifth always say the same", {"constant": 0.2}),
    "sets_copiers": SetScenario("label sets; a fifth copy an honest worker each", {"copier": 0.2}),
    "sets_menus": SetScenario("label sets; each task offers half of the classes", {"offered": 0.5}),
}
