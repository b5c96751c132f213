"""The workers who answer with label sets: by distances between sets, and by what they name and miss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from ...aggregate.sets.base import set_gold
from ...core.result import Result
from ...core.votes import Votes
from ...kinds.sets.answers import Sets
from ...scoring.scored import Table
from ..alike.study import AlikeStudy, looked_at
from ..wording import number
from .judging import sets_judged


@dataclass(frozen=True, eq=False)
class SetStudy(AlikeStudy):
    """AlikeStudy by the MASI distance; `quality` has f1, precision, recall, false_alarms and named as well."""

    def _row(self, row: dict[str, Any]) -> list[str]:
        shown = super()._row(row)
        return [*shown[:-1], number(row["precision"], 2), number(row["recall"], 2), shown[-1]]

    def worker_tables(self, ends: int) -> list[Table]:
        """With precision and recall."""
        found = super().worker_tables(ends)
        return [Table(t.title, [*t.header[:-1], "precision", "recall", t.header[-1]], t.rows) for t in found]


def study_sets(votes: Votes[Sets], result: Result, *, gold: Any = None, idle: float = 600.0) -> SetStudy:
    """Quality, agreement and flags. `gold` adds distances on known tasks."""
    found = looked_at(votes, result, gold=gold, idle=idle, judge=sets_judged)
    found["agreement"] = [replace(each, name=f"{each.name} (MASI)") for each in found["agreement"]]
    own = result.worker_table().drop("n_labels")
    floats = [name for name, kind in own.schema.items() if kind.is_float()]
    found["quality"] = found["quality"].join(
        own.with_columns(pl.col(floats).fill_nan(None)), on="worker", how="left", maintain_order="left"
    )
    return SetStudy(**found)


def known(votes: Votes[Sets], gold: Any) -> tuple[np.ndarray[Any, Any], Sets]:
    """Codes of the tasks whose whole set is known, and their sets."""
    table = set_gold(gold, votes)
    assert table is not None
    tasks = np.flatnonzero((table >= 0).all(axis=1))
    row, code = np.nonzero(table[tasks] == 1)
    start = np.searchsorted(row, np.arange(len(tasks) + 1)).astype(np.int64)
    return tasks, Sets(start, code.astype(np.int32), votes.answers.classes)


def flag_sets(votes: Votes[Sets], result: Result) -> list[Any]:
    """All flags of a fit."""
    return study_sets(votes, result).flags
