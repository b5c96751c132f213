"""Quality, agreement and flags of workers who answer with label sets, including a test for idle workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...stats.abilities import FEWEST, BehaviourPosterior, some_rows
from ...workers.distance_based import LEAST, ONE_ANSWER, BehaviourFlags, DistanceStudy, answer_codes, study_parts
from ...workers.studied import number
from .answers import Sets
from .fitting import SetPredictor
from .maths import bin_answers, idle_probabilities

# Maximum number of cells (answer and class) per worker that are examined, and minimum number of answers.
MAX_CELLS, MIN_ROWS = 3000, 30


def detect_idle_workers(votes: Votes[Sets], result: Result) -> BehaviourFlags:
    """Return the probability that each worker names classes without looking at the tasks.

    Naming few or many classes, or one class too often, is treated as a habit. The evidence is whether a worker names a
    class where the other workers say that it is true, compared with the crowd.
    """
    answers = votes.answers
    k, m = len(answers.classes), votes.n_workers
    rows = some_rows(votes.worker, m, max(MIN_ROWS, MAX_CELLS // max(k, 1)))
    model = result.model
    assert isinstance(model, SetPredictor)
    named = np.zeros((len(votes), k), dtype=bool)
    named[answers.row, answers.code] = True
    named = named[rows]
    offered = np.ones(named.shape, dtype=bool)
    if answers.menu is not None and answers.menus is not None:
        offered = answers.menus[answers.menu[rows]]
    cells = bin_answers(votes.worker[rows].astype(np.int64), model.without_own(votes)[rows], named, offered, m)
    # Workers who always give the same answer have a flag of their own; next to them all others would look similar.
    included = (np.bincount(votes.worker, minlength=m) >= LEAST) & ~_one_answer(votes)
    idle = idle_probabilities(cells, included) if included.sum() >= FEWEST else np.zeros(m)
    return BehaviourFlags(BehaviourPosterior(idle, np.zeros(m)), _words(result), "random")


def _one_answer(votes: Votes[Sets]) -> npt.NDArray[np.bool_]:
    """Return the workers who nearly always gave the same set."""
    pairs, count = np.unique(np.stack([votes.worker, answer_codes(votes)]), axis=1, return_counts=True)
    most = np.zeros(votes.n_workers)
    np.maximum.at(most, pairs[0], count)
    return np.asarray(most >= ONE_ANSWER * np.bincount(votes.worker, minlength=votes.n_workers))


def _words(result: Result) -> Callable[[int], str]:
    table = result.worker_table().with_columns(pl.col("recall", "false_alarms").fill_nan(None))
    recall, alarms, n = (table[name].to_list() for name in ("recall", "false_alarms", "n_labels"))
    recalls = [value for value in recall if value is not None]
    typical = float(np.median(recalls)) if recalls else None

    def words(w: int) -> str:
        return (
            f"names {number(recall[w], 2)} of the true classes and {number(alarms[w], 2)} of the others in {n[w]:,} "
            f"answers; the median worker names {number(typical, 2)} of the true classes"
        )

    return words


# ----------------------------------------------------------------
# The worker study.


@dataclass(frozen=True, eq=False)
class SetStudy(DistanceStudy):
    """Worker study of label sets by the MASI distance.

    `quality` has, besides the common columns, f1, precision, recall, false_alarms and named.
    """

    HEADER: ClassVar[tuple[str, ...]] = (*DistanceStudy.HEADER, "precision", "recall")

    def cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of `quality` as text, without the flags."""
        return [*super().cells(row), number(row["precision"], 2), number(row["recall"], 2)]


def study_sets(votes: Votes[Sets], result: Result, *, gold: Any = None, idle: float = 600.0) -> SetStudy:
    """Study the workers of a fit of label sets. The options are those of `study_by_distance`."""
    parts = study_parts(votes, result, gold=gold, idle=idle, judge=detect_idle_workers)
    parts["agreement"] = [replace(measure, name=f"{measure.name} (MASI)") for measure in parts["agreement"]]
    more = result.worker_table().drop("n_labels")
    floats = [name for name, kind in more.schema.items() if kind.is_float()]
    parts["quality"] = parts["quality"].join(
        more.with_columns(pl.col(floats).fill_nan(None)), on="worker", how="left", maintain_order="left"
    )
    return SetStudy(**parts)


def flag_sets(votes: Votes[Sets], result: Result) -> list[Any]:
    """Return all worker flags of a fit."""
    return study_sets(votes, result).flags
