"""Estimates from rankings: scores and ranks of the items of each task, and the agreement of workers with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8, I8, Mask
from ...core.estimate import Axes, Estimate, WorkerSummary
from .answers import Rankings
from .maths import average_places


@dataclass(frozen=True, eq=False)
class RankingEstimate(Estimate):
    """Scores and ranks of the items of each task.

    Entries are items of tasks, sorted by task; entry_item[entry] is a code into `items`. score[entry] orders the items
    of a task (higher is better), with a standard error and an interval (NaN where the method has none). `place` is the
    rank by score, 1 the best; equal scores share the mean. rank_low..rank_high are simultaneous confidence
    intervals of the ranks within a task; `group` 1 holds the best item and those that cannot be distinguished from it,
    and so on. `heard` marks tasks with answers.
    """

    kind: ClassVar[str] = "rankings"
    vocabulary: ClassVar[str | None] = "items"

    entry_task: Annotated[I8, Axes("*", "amounts")]
    entry_item: Annotated[I8, Axes("*", "amounts")]
    score: Annotated[F8, Axes("*", "finite")]
    se: Annotated[F8, Axes("*")]
    score_low: Annotated[F8, Axes("*")]
    score_high: Annotated[F8, Axes("*")]
    rank_low: Annotated[I8, Axes("*", "amounts")]
    rank_high: Annotated[I8, Axes("*", "amounts")]
    group: Annotated[I8, Axes("*", "amounts")]
    n_asked: Annotated[I8, Axes("*", "amounts")]
    heard: Annotated[Mask, Axes("n")]
    items: pl.Series

    def check(self) -> None:
        """Raise if arrays of a run folder contradict each other."""
        if len({len(values) for name, values in self.arrays().items() if name != "heard"}) > 1:
            raise ValueError("the arrays of the entries differ in length")
        codes = (("entry_task", self.entry_task, len(self)), ("entry_item", self.entry_item, len(self.items)))
        for name, values, size in codes:
            if values.size and values.max() >= size:
                raise ValueError(f"{name} refers to something that does not exist")
        if (np.diff(self.entry_task) < 0).any():
            raise ValueError("the entries are not in the order of their tasks")

    @property
    def place(self) -> F8:
        """Rank of each entry in its task."""
        return average_places(self.score, self.entry_task)

    def answers(self) -> Rankings:
        """The estimated order of each task as a ranking; empty without answers."""
        place = self.place
        order = np.lexsort((self.entry_item, place, self.entry_task))
        task, at = self.entry_task[order], place[order]
        new = np.concatenate([[True], (np.diff(task) != 0) | (np.diff(at) > 1e-9)]) if len(at) else np.zeros(0, bool)
        first = np.concatenate([[True], np.diff(task) != 0]) if len(at) else np.zeros(0, bool)
        run = np.cumsum(new) - 1
        start = np.maximum.accumulate(np.where(first, run, 0)) if len(at) else run
        offset = np.searchsorted(task, np.arange(len(self) + 1))
        item, level = self.entry_item[order].astype(np.int32), (run - start).astype(np.int32)
        return Rankings(offset.astype(np.int64), item, level, np.zeros(len(self), dtype=bool), self.items)

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Columns ranking, n_items, n_labels."""
        answers = self.answers()
        text = answers.columns()["ranking"].set(pl.Series(answers.size == 0), None)
        return {"ranking": text, "n_items": answers.size, "n_labels": n_labels}

    def board(self, tasks: pl.Series) -> pl.DataFrame:
        """Table of the entries, the best of each task first."""
        table = pl.DataFrame(
            {
                "task": tasks.gather(self.entry_task),
                "item": self.items.gather(self.entry_item),
                "place": self.place,
                "score": self.score,
                "low": self.score_low,
                "high": self.score_high,
                "se": self.se,
                "rank_low": self.rank_low,
                "rank_high": self.rank_high,
                "group": self.group,
                "n_asked": self.n_asked,
            }
        )
        order = np.lexsort((self.place, self.entry_task))
        ordered: pl.DataFrame = table[order.tolist()]
        return ordered

    def tables(self, tasks: pl.Series) -> dict[str, pl.DataFrame]:
        """Further tables of a run folder."""
        return {"items.csv": self.board(tasks)}

    without_labels: ClassVar[str] = "empty ranking"

    def facts(self) -> dict[str, Any]:
        """Numbers of items and entries."""
        return {"items": len(self.items), "entries": len(self.score)}

    def coder_options(self) -> dict[str, Any]:
        """All items."""
        return {"items": self.items}

    def size(self) -> str:
        """Number of items, as text."""
        return f", {len(self.items):,} items"

    def summary(self) -> str:
        """Number and size of the lists, as text."""
        n = np.bincount(self.entry_task, minlength=max(len(self), 1))
        n = n[n > 0]
        if not len(n):
            return "no lists"
        size = f"{n.min()}" if n.min() == n.max() else f"{n.min()} to {n.max()}"
        return f"{len(n):,} list{'s' * (len(n) != 1)} of {size} items"


@dataclass(frozen=True, eq=False)
class RankingWorkers(WorkerSummary):
    """Quality of the workers.

    agreement[worker] is the mean Kendall's tau between the worker's rankings and the estimates, with a 95 % interval.
    temperature (1: as the crowd, 0: guesses, below 0: reversed) and dispersion are NaN where the method has none.
    """

    agreement: Annotated[F8, Axes("m")]
    agreement_low: Annotated[F8, Axes("m")]
    agreement_high: Annotated[F8, Axes("m")]
    temperature: Annotated[F8, Axes("m")]
    dispersion: Annotated[F8, Axes("m")]

    def table(self) -> dict[str, Any]:
        """All arrays; NaN stays NaN."""
        return dict(self.arrays())
