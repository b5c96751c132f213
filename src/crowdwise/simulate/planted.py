"""Simulated votes with their ground truth, and named recipes to draw them. The kinds of answers write the recipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import polars as pl

from ..core.errors import ParameterError
from ..core.votes import Votes

V = TypeVar("V", bound=Votes[Any])


class Planted(Generic[V]):
    """Simulated votes together with the ground truth that only a simulator knows.

    Args:
        votes: The answers of the simulated workers.
        truth: Table of the true answers.
        workers: Table of the workers: worker, kind and the parameters that were drawn for each.
        planted: The arrays behind the votes, with tasks and workers in the order of votes.tasks and votes.workers.
    """

    def __init__(self, votes: V, truth: pl.DataFrame, workers: pl.DataFrame, planted: Any = None) -> None:
        self.votes, self.planted = votes, planted
        self._truth_table, self._worker_table = truth, workers

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @property
    def annotations(self) -> V:
        """The same as `votes`."""
        return self.votes

    @property
    def truth(self) -> Any:
        """The true answers as an array or a list."""
        return self.planted.truth

    @property
    def kind(self) -> list[str]:
        """The kind of each worker, such as honest, random or copier."""
        return self._worker_table["kind"].to_list()

    @property
    def copies(self) -> list[str | None]:
        """The worker that each worker copies, None for workers who do not copy."""
        table = self._worker_table
        return table["copies"].to_list() if "copies" in table.columns else [None] * len(table)

    def truth_table(self) -> pl.DataFrame:
        """Table of the true answers, as `evaluate` takes it."""
        return self._truth_table

    def worker_table(self) -> pl.DataFrame:
        """Table of the workers: worker, kind and their true parameters."""
        return self._worker_table

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables that `save` writes, by file name."""
        return {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table(), "workers.csv": self.worker_table()}

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write the votes, the truth and the workers as CSV files.

        Args:
            folder: Where to write; it is created where it does not exist.
            force: Overwrite existing files.

        Returns:
            The names of the files.
        """
        from ..io.csv.folder import write_tables

        tables = self.tables()
        write_tables(folder, tables, force=force)
        return list(tables)


def answer_columns(planted: Any, tasks: pl.Series, workers: pl.Series) -> dict[str, Any]:
    """Return the arguments task, worker, tasks and workers of the function that builds the votes of a kind.

    Args:
        planted: The arrays behind the votes, with task[row] and worker[row].
        tasks: Names of all tasks.
        workers: Names of all workers.
    """
    task, worker = tasks.gather(planted.task), workers.gather(planted.worker)
    return {"task": task, "worker": worker, "tasks": tasks, "workers": workers}


def worker_columns(workers: pl.Series, kind: list[str], **parameters: Any) -> pl.DataFrame:
    """Table of simulated workers: worker, kind and the parameters of each."""
    return pl.DataFrame({"worker": workers, "kind": pl.Series(kind, dtype=pl.String), **parameters})


@dataclass(frozen=True)
class Size:
    """The size of a crowd to draw, and the seed. `labels` is the number of different workers of each task."""

    tasks: int
    workers: int
    labels: int
    classes: int | None = None
    features: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Scenario:
    """A named recipe for a simulated crowd of any size.

    Args:
        name: Its name in `crowdwise.simulate.scenario`.
        kind: The kind of answers.
        draw: Called as draw(size, **options); returns the crowd.
        description: One line about the crowd.
        options: Further arguments of `draw`.
        takes: Which of "classes" and "features" a user may set.
        classes: Number of classes unless set (None: `draw` decides).
        workers: Number of workers unless set.
        labels: Number of labels per task unless set (None: every worker answers every task).
    """

    name: str
    kind: str
    draw: Callable[..., Planted[Any]]
    description: str
    options: Mapping[str, Any] = field(default_factory=dict)
    takes: tuple[str, ...] = ()
    classes: int | None = None
    workers: int = 60
    labels: int | None = 5

    def make(
        self,
        n_tasks: int,
        n_workers: int,
        n_classes: int | None,
        labels_per_task: int | None,
        n_features: int = 0,
        seed: int = 0,
    ) -> Any:
        """Draw a crowd of this size. Without `labels_per_task` every worker answers every task."""
        labels = n_workers if labels_per_task is None else labels_per_task
        if labels > n_workers:
            raise ParameterError(
                f"labels={labels} labels per task need as many different workers, got workers={n_workers}; "
                "raise workers or lower labels"
            )
        for name, value in (("classes", n_classes), ("features", n_features)):
            if value and name not in self.takes:
                raise ParameterError(f"{name}={value} does not apply to {self.name}; leave it out")
        n_classes = self.classes if n_classes is None else n_classes
        return self.draw(Size(n_tasks, n_workers, labels, n_classes, n_features, seed), **self.options)


# Names from the time when each kind had a class of its own.
JudgeScenario = LinkedScenario = NumberScenario = OrderedScenario = SetScenario = SpanScenario = TextScenario = Scenario


def planted_by(crowd: Callable[..., Any], planted: Callable[[Any], Planted[Any]]) -> Callable[..., Planted[Any]]:
    """Return the function `draw` of scenarios from a function that draws the arrays and the class that holds them.

    Args:
        crowd: Called as crowd(tasks, workers, per_task=, seed=, **options), with `classes` if a size has it.
        planted: Called with the arrays.
    """

    def draw(size: Size, **options: Any) -> Planted[Any]:
        if size.classes is not None:
            options["classes"] = size.classes
        return planted(crowd(size.tasks, size.workers, per_task=size.labels, seed=size.seed, **options))

    return draw


def scenarios(
    kind: str, draw: Callable[..., Planted[Any]], entries: Mapping[str, tuple[str, Mapping[str, Any]]], **fields: Any
) -> dict[str, Scenario]:
    """Build the scenarios of a kind by name.

    Args:
        kind: The kind of answers.
        draw: Called as draw(size, **options).
        entries: Description and options of each scenario by its name.
        **fields: Further fields that all of these scenarios share.
    """
    return {
        name: Scenario(name, kind, draw, description, options, **fields)
        for name, (description, options) in entries.items()
    }
