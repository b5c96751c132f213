"""Who does not look when they name classes, by what everybody else says of each class of their tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.scores import Table
from ...stats.abilities import FEWEST, Chances, some_rows
from ...workers.distance_based import LEAST, ONE_ANSWER, AlikeStudy, Judged, looked_at, same_as
from ...workers.studied import number
from .answers import Sets
from .fitting import SetJudge, set_gold
from .maths import cells_of, idle_chances

# Cells of a worker that are looked at, at most, in so many answers at least.
CELLS, FEWEST_ROWS = 3000, 30


def sets_judged(votes: Votes[Sets], result: Result) -> Judged:
    """Every class that was offered is a question. Workers name few classes or many, some too often: that is habit. What
    counts is whether they name a class where others say that it holds, beside how well the crowd does."""
    said = votes.answers
    k, m = len(said.classes), votes.n_workers
    rows = some_rows(votes.worker, m, max(FEWEST_ROWS, CELLS // max(k, 1)))
    model = result.model
    assert isinstance(model, SetJudge)
    named = np.zeros((len(votes), k), dtype=bool)
    named[said.row, said.code] = True
    named = named[rows]
    offered = np.ones(named.shape, dtype=bool)
    if said.menu is not None and said.menus is not None:
        offered = said.menus[said.menu[rows]]
    cells = cells_of(votes.worker[rows].astype(np.int64), model.without_own(votes)[rows], named, offered, m)
    # Who gives one answer always is told by that flag; beside them everybody else would look alike.
    known = (np.bincount(votes.worker, minlength=m) >= LEAST) & ~_one_answer(votes)
    idle = idle_chances(cells, known) if known.sum() >= FEWEST else np.zeros(m)
    return Judged(Chances(idle, np.zeros(m)), _words(result), "random")


def _one_answer(votes: Votes[Sets]) -> npt.NDArray[np.bool_]:
    """Workers who gave one and the same set nearly always."""
    pairs, count = np.unique(np.stack([votes.worker, same_as(votes)]), axis=1, return_counts=True)
    most = np.zeros(votes.n_workers)
    np.maximum.at(most, pairs[0], count)
    return np.asarray(most >= ONE_ANSWER * np.bincount(votes.worker, minlength=votes.n_workers))


def _words(result: Result) -> Callable[[int], str]:
    table = result.worker_table().with_columns(pl.col("recall", "false_alarms").fill_nan(None))
    recall, alarms, n = (table[name].to_list() for name in ("recall", "false_alarms", "n_labels"))
    some = [value for value in recall if value is not None]
    usual = float(np.median(some)) if some else None

    def words(w: int) -> str:
        return (
            f"names {number(recall[w], 2)} of the classes that hold and {number(alarms[w], 2)} of those that do not, "
            f"over {n[w]:,} answers; the usual worker names {number(usual, 2)} of those that hold"
        )

    return words


# ----------------------------------------------------------------
# The workers who answer with label sets: by distances between sets, and by what they name and miss.


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
