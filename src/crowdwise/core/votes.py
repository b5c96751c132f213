"""Votes: rows of (task, worker, answer) as integer codes, for any kind of answer, and operations on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from .answers import Answers
from .arrays import F8
from .errors import DataError, ParameterError
from .intake.coding import NUMBERS, Coded
from .intake.repeats import Duplicates
from .ledger import Ledger
from .order import offsets
from .registry import get
from .side_tables import SideTable, narrowed
from .vocabulary import codes_of, recode

if TYPE_CHECKING:
    from .kind import Kind

A = TypeVar("A", bound=Answers)


@dataclass(frozen=True, eq=False, repr=False)
class Votes(Coded[A], Generic[A]):
    """Rows as codes into sorted vocabularies of tasks and workers, sorted by task, then worker, with one answer each.

    Side tables are kept when rows are selected or appended.

    Attributes:
        about_tasks: Further columns about tasks (text, url, ...).
        about_workers: Further columns about workers (group, family, cost, ...).
        about_rows: One row per vote (repeat, prompt, order, cost).
        links: Links between tasks that belong together (task, other, weight).
    """

    about_tasks: SideTable = None
    links: SideTable = None

    def __post_init__(self) -> None:
        if len(self.answers) != len(self.task):
            raise DataError(
                f"label has {len(self.answers)} rows but task has {len(self.task)}; they must be equally long"
            )
        for name in ("task", "worker", *self.numbers):
            array: npt.NDArray[Any] = getattr(self, name)
            if len(array) != len(self.task):
                raise DataError(
                    f"{name} has {len(array)} rows but task has {len(self.task)}; they must be equally long"
                )
            object.__setattr__(self, name, frozen(array))
        if self.about_rows is not None and len(self.about_rows) != len(self.task):
            raise DataError(f"about_rows has {len(self.about_rows)} rows but there are {len(self.task)} votes")

    @classmethod
    def _of(cls, coded: Coded[Any], **more: Any) -> Self:
        return cls(**{name: getattr(coded, name) for name in Coded.__dataclass_fields__}, **more)

    # ---------------------------------------------------------------- sizes and views
    def __len__(self) -> int:
        return len(self.task)

    @property
    def kind(self) -> Kind:
        """The kind of the answers."""
        return get(self.answers.kind)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self):,} {self.kind.answers_word}, {self.n_tasks:,} tasks, "
            f"{self.n_workers:,} workers)"
        )

    def _repr_html_(self) -> str:
        shown: str = self.kind.hooks.votes_html(self)
        return shown

    @property
    def numbers(self) -> dict[str, F8]:
        """Numbers of the rows besides their answer: weight, time, duration (both in seconds), confidence."""
        return {name: getattr(self, name) for name in NUMBERS if getattr(self, name) is not None}

    @property
    def n_tasks(self) -> int:
        """Number of tasks, including those without answers."""
        return len(self.tasks)

    @property
    def n_workers(self) -> int:
        """Number of workers, including those without answers."""
        return len(self.workers)

    @cached_property
    def task_offsets(self) -> npt.NDArray[np.int64]:
        """Rows of task i are task_offsets[i] .. task_offsets[i + 1]."""
        return offsets(self.task, self.n_tasks)

    @cached_property
    def worker_order(self) -> npt.NDArray[np.int64]:
        """Row numbers sorted by worker, then task."""
        return np.argsort(self.worker, kind="stable")

    @cached_property
    def worker_offsets(self) -> npt.NDArray[np.int64]:
        """Rows of worker w are worker_order[worker_offsets[w] .. worker_offsets[w + 1]]."""
        return offsets(self.worker, self.n_workers)

    @cached_property
    def labels_per_task(self) -> npt.NDArray[np.int64]:
        """Number of rows of each task."""
        return np.diff(self.task_offsets)

    @cached_property
    def labels_per_worker(self) -> npt.NDArray[np.int64]:
        """Number of rows of each worker."""
        return np.diff(self.worker_offsets)

    @property
    def single_label(self) -> bool:
        """Whether no task has more than one answer, so that nothing can be learnt about the workers."""
        return len(self) > 0 and int(self.labels_per_task.max()) <= 1

    # ---------------------------------------------------------------- operations, each returns a new object
    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Select rows by a mask or by ascending row numbers; the vocabularies are kept."""
        pick = np.flatnonzero(rows) if rows.dtype == bool else rows
        numbers: dict[str, Any] = {name: values[pick] for name, values in self.numbers.items()}
        return replace(
            self,
            task=self.task[pick],
            worker=self.worker[pick],
            answers=self.answers.take(pick),
            ledger=Ledger(len(pick), len(pick)),
            about_rows=None if self.about_rows is None else self.about_rows[pick],
            **numbers,
        )

    def select(self, *, tasks: Iterable[Any] | None = None, workers: Iterable[Any] | None = None) -> Self:
        """Select tasks and workers by name; the vocabularies are reduced to them.

        Args:
            tasks: Tasks to keep (default: all).
            workers: Workers to keep (default: all).
        """
        keep = np.ones(len(self), dtype=bool)
        vocabularies: dict[str, Any] = {"tasks": self.tasks, "workers": self.workers}
        for name, names, codes in (("tasks", tasks, self.task), ("workers", workers, self.worker)):
            if names is None:
                continue
            member = np.zeros(len(vocabularies[name]), dtype=bool)
            member[codes_of(vocabularies[name], names, name)] = True
            keep &= member[codes]
            vocabularies[name] = vocabularies[name].filter(pl.Series(member))
        part = self.take(keep)
        return replace(
            part,
            task=recode(part.task, self.tasks, vocabularies["tasks"]),
            worker=recode(part.worker, self.workers, vocabularies["workers"]),
            about_tasks=narrowed(self.about_tasks, vocabularies["tasks"]),
            about_workers=narrowed(self.about_workers, vocabularies["workers"]),
            **vocabularies,
        )

    def among(self, tasks: npt.NDArray[np.bool_], workers: npt.NDArray[np.bool_]) -> Self:
        """Select tasks and workers by masks; the vocabularies are reduced to them."""
        part = self.take(tasks[self.task] & workers[self.worker])
        task, worker = ((np.cumsum(mask) - 1).astype(np.int32) for mask in (tasks, workers))
        return replace(
            part,
            task=task[part.task],
            worker=worker[part.worker],
            tasks=self.tasks.filter(pl.Series(tasks)),
            workers=self.workers.filter(pl.Series(workers)),
        )

    def split(
        self, fraction: float, *, by: Literal["annotation", "task"] = "annotation", seed: int = 0
    ) -> tuple[Self, Self]:
        """Split the votes at random into (kept, held out).

        Args:
            fraction: Fraction that is held out.
            by: Whether to hold out single annotations or whole tasks.
            seed: Seed of the draw.
        """
        if not 0 <= fraction <= 1:
            raise ParameterError(f"fraction must be between 0 and 1, got {fraction}")
        if by not in ("annotation", "task"):
            raise ParameterError(f"by must be 'annotation' or 'task', got {by!r}")
        rng = np.random.default_rng(seed)
        n = len(self) if by == "annotation" else self.n_tasks
        held_out = np.zeros(n, dtype=bool)
        held_out[rng.permutation(n)[: round(fraction * n)]] = True
        rows = held_out if by == "annotation" else held_out[self.task]
        return self.take(~rows), self.take(rows)

    def shards(self, n: int) -> list[Self]:
        """Split the votes into at most n runs of consecutive tasks of about equally many rows; workers are shared."""
        if n < 1:
            raise ParameterError(f"the number of shards must be at least 1, got {n}")
        cuts = np.searchsorted(self.task_offsets, np.linspace(0, len(self), n + 1)[1:-1])
        edges = np.unique(np.concatenate([[0], cuts, [self.n_tasks]]))
        return [self._run(int(lo), int(hi)) for lo, hi in pairwise(edges)] or [self]

    def _run(self, lo: int, hi: int) -> Self:
        part = self.take(np.arange(self.task_offsets[lo], self.task_offsets[hi]))
        return replace(part, task=part.task - np.int32(lo), tasks=self.tasks[lo:hi])

    def append(self, other: Self, *, duplicates: Duplicates = "error") -> Self:
        """Append votes, over the union of the vocabularies.

        Args:
            other: Votes to append. Where only one set has weights, the rows of the other weigh 1; missing times,
                durations and confidences stay missing.
            duplicates: What to do when a worker gave a task different answers: "error", "first", "last" or "keep".
        """
        from .append import append

        return append(self, other, duplicates)

    def about(self, *, tasks: Any = None, workers: Any = None) -> Self:
        """Attach tables about tasks or workers; values replace earlier ones of the same column.

        Args:
            tasks: Table with a column `task`.
            workers: Table with a column `worker`.
        """
        from .side_tables import joined, side_table

        tables: dict[str, Any] = {}
        if tasks is not None:
            tables["about_tasks"] = joined(self.about_tasks, side_table(tasks, "task", self.tasks))
        if workers is not None:
            tables["about_workers"] = joined(self.about_workers, side_table(workers, "worker", self.workers))
        return replace(self, **tables)

    def linked(self, links: Any) -> Self:
        """Attach links between tasks: a table with two columns of tasks and an optional third column of weights."""
        from .side_tables import link_table

        return replace(self, links=link_table(links))

    def to_frame(self) -> pl.DataFrame:
        """Return the rows as a polars frame with the user's ids and answers."""
        columns: Mapping[str, pl.Series] = {
            "task": self.tasks.gather(self.task),
            "worker": self.workers.gather(self.worker),
            **self.answers.columns(),
        }
        frame = pl.DataFrame(columns).with_columns(**{n: pl.Series(v) for n, v in self.numbers.items()})
        return frame if self.about_rows is None else frame.hstack(self.about_rows)

    def describe(self) -> dict[str, Any]:
        """Summarise the data as plain values: sizes, overlap, graph, agreement, ledger."""
        described: dict[str, Any] = self.kind.hooks.describe(self)
        return described


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view; the caller's array stays writable."""
    view = array.view()
    view.setflags(write=False)
    return view
