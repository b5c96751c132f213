"""Ready-made crowds that write texts, by name: votes, the truth, and who was planted as what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from ...kinds.texts.answers import Texts
from ...kinds.texts.votes import text_votes
from .draw import TextCrowd, text_crowd


@dataclass(frozen=True, eq=False, repr=False)
class PlantedTexts:
    """What the workers wrote, and what nobody but a simulator knows: the counterpart of `Crowd` for texts.

    >>> from crowdwise import simulate
    >>> simulate.scenario("texts_random", tasks=20, workers=10, seed=1)
    PlantedTexts(honest, random: Votes(100 texts, 20 tasks, 10 workers))
    """

    planted: TextCrowd

    def __repr__(self) -> str:
        return f"PlantedTexts({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @cached_property
    def votes(self) -> Votes[Texts]:
        """What the workers wrote."""
        tasks, workers = (
            pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])
            for mark, n in (("t", len(self.planted.truth)), ("w", len(self.planted.kind)))
        )
        task, worker = tasks.gather(self.planted.task), workers.gather(self.planted.worker)
        return text_votes(task, worker, self.planted.outputs, tasks=tasks, workers=workers)

    @property
    def annotations(self) -> Votes[Texts]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def truth(self) -> Any:
        """The true text of each task."""
        return self.planted.truth

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, random, constant or copier."""
        return self.planted.kind

    @property
    def copies(self) -> list[str | None]:
        """Whom each worker copies."""
        names = self.votes.workers.to_list()
        return [names[at] if at >= 0 else None for at in self.planted.copies.tolist()]

    def truth_table(self) -> pl.DataFrame:
        """The table task, output."""
        return pl.DataFrame({"task": self.votes.tasks, "output": self.truth})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, copies, error."""
        columns: dict[str, Any] = {
            "worker": self.votes.workers,
            "kind": pl.Series(self.kind, dtype=pl.String),
            "copies": pl.Series(self.copies, dtype=pl.String),
        }
        return pl.DataFrame(columns | {"error": self.planted.error})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written.

        Files that are there already are only overwritten with `force`.
        """
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class TextScenario:
    """A ready-made crowd that writes texts: one line about it, and what `text_crowd` is told."""

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
    ) -> PlantedTexts:
        """A crowd of this size."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        for name, given in (("classes", n_classes), ("features", n_features)):
            if given:
                raise ParameterError(f"{name}={given} does not go with texts; leave it out")
        return PlantedTexts(text_crowd(n_tasks, n_workers, per_task=labels_per_task, **self.told, seed=seed))


TEXT_SCENARIOS: dict[str, TextScenario] = {
    "texts_plain": TextScenario("transcripts: every worker gets some words wrong"),
    "texts_translations": TextScenario("translations: words said in other ways, in another order", {"freedom": 0.5}),
    "texts_random": TextScenario("transcripts; a fifth write another sentence", {"random": 0.2}),
    "texts_copiers": TextScenario("transcripts; a fifth copy an honest worker each", {"copier": 0.2}),
    "texts_mixed": TextScenario(
        "transcripts; one in ten writes another sentence, always the same, or copies each",
        {"random": 0.1, "constant": 0.1, "copier": 0.1},
    ),
}
