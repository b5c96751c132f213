"""Ready-made crowds that mark spans, by name: votes, the truth, and who was planted as what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...kinds.spans.coder import spans_of
from ...kinds.spans.votes import span_votes
from .draw import SpanCrowd, span_crowd


@dataclass(frozen=True, eq=False, repr=False)
class PlantedSpans:
    """What the workers marked, and what nobody but a simulator knows: the counterpart of `Crowd` for spans.

    >>> from crowdwise import simulate
    >>> simulate.scenario("spans_idle", tasks=20, workers=10, seed=1)
    PlantedSpans(honest, idle: Votes(100 lists of spans, 20 tasks, 10 workers))
    """

    planted: SpanCrowd

    def __repr__(self) -> str:
        return f"PlantedSpans({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @cached_property
    def votes(self) -> Votes[Spans]:
        """What the workers marked."""
        tasks, workers = (
            pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])
            for mark, n in (("t", len(self.planted.texts)), ("w", len(self.planted.kind)))
        )
        task, worker = tasks.gather(self.planted.task), workers.gather(self.planted.worker)
        made = span_votes(task, worker, self.planted.spans, tasks=tasks, workers=workers)
        return made.about(tasks=pl.DataFrame({"task": tasks, "text": self.planted.texts}))

    @property
    def annotations(self) -> Votes[Spans]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def truth(self) -> Any:
        """The true spans of each task."""
        return self.planted.truth

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, random, idle, constant or copier."""
        return self.planted.kind

    @property
    def copies(self) -> list[str | None]:
        """Whom each worker copies."""
        names = self.votes.workers.to_list()
        return [names[at] if at >= 0 else None for at in self.planted.copies.tolist()]

    def truth_table(self) -> pl.DataFrame:
        """The table task, spans."""
        return pl.DataFrame({"task": self.votes.tasks, "spans": spans_of(self.truth, "task")[0].texts})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, copies, miss, spurious, slip, mistake."""
        columns: dict[str, Any] = {
            "worker": self.votes.workers,
            "kind": pl.Series(self.kind, dtype=pl.String),
            "copies": pl.Series(self.copies, dtype=pl.String),
        }
        drawn = ("miss", "spurious", "slip", "mistake")
        return pl.DataFrame(columns | {name: getattr(self.planted, name) for name in drawn})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv, texts.csv and workers.csv; returns the names written.

        Files that are there already are only overwritten with `force`.
        """
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables |= {
            "texts.csv": pl.DataFrame({"task": self.votes.tasks, "text": self.planted.texts}),
            "workers.csv": self.worker_table(),
        }
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class SpanScenario:
    """A ready-made crowd that marks spans: one line about it, and what `span_crowd` is told."""

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
    ) -> PlantedSpans:
        """A crowd of this size."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        for name, given in (("classes", n_classes), ("features", n_features)):
            if given:
                raise ParameterError(f"{name}={given} does not go with spans; leave it out")
        return PlantedSpans(span_crowd(n_tasks, n_workers, per_task=labels_per_task, **self.told, seed=seed))


_LONG: dict[str, Any] = {"words": (80, 200), "length": (6, 20), "density": 0.02, "tags": ("",)}
SPAN_SCENARIOS: dict[str, SpanScenario] = {
    "spans_plain": SpanScenario("names in sentences: three tags, spans of one to three words"),
    "spans_passages": SpanScenario("passages without tags in longer texts", _LONG),
    "spans_random": SpanScenario("names; a fifth of the workers mark anything", {"random": 0.2}),
    "spans_idle": SpanScenario("names; a fifth of the workers mark nothing", {"idle": 0.2}),
    "spans_copiers": SpanScenario("names; a fifth copy an honest worker each", {"copier": 0.2}),
    "spans_mixed": SpanScenario(
        "passages; one in ten marks anything, nothing, the beginning, or copies each",
        {**_LONG, "random": 0.1, "idle": 0.1, "constant": 0.1, "copier": 0.1},
    ),
}
