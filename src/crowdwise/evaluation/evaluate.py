"""Score a result against the truth, for any kind of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core import kind as kinds
from ..core.errors import DataError, ParameterError
from ..core.intake.frames import to_polars
from ..core.kind import Kind, KindHooks
from ..core.result import Result
from ..core.truth import task_named
from ..core.vocabulary import as_series, lookup

ALL_GOLD = (
    "all {n:,} tasks in the truth were gold in the fit, so none is left to score; give the truth of other tasks, "
    "or fit without gold"
)


def evaluate(
    result: Result | pl.DataFrame,
    truth: Any,
    *,
    gold: Any = None,
    resamples: int = 0,
    seed: int = 0,
    order: Sequence[Any] | None = None,
    cluster: Any = None,
) -> Any:
    """Score a result against truth.

    Args:
        result: A Result, or a table task, label with or without p_<class> columns. Results of other kinds than classes,
            and tables without labels, are scored by the scores of their kind.
        truth: Mapping or table with the known truth of some tasks.
        gold: Gold given to the fit of a table; its tasks are not scored. A Result carries this information itself.
        resamples: Number of bootstrap resamples of the tasks (1000 is enough) for 95 % intervals; 0 for none.
        seed: Seed of the resampling.
        order: Classes from the lowest to the highest, if they are ordered and the result does not know it.
        cluster: Table or mapping task, cluster, of tasks that belong together (prompts of one document); the intervals
            of classes then draw clusters.

    Returns:
        The evaluation of the kind, a `Scores` object.

    >>> labels = pl.DataFrame({"task": ["a", "b"], "label": ["x", "y"]})
    >>> evaluate(labels, {"a": "x", "b": "x"}).accuracy
    0.5
    """
    if resamples < 0:
        raise ParameterError(f"resamples must be 0 or more, got {resamples}")
    if isinstance(result, Result) and (names := task_names(truth)) is not None:
        result = result.for_tasks(names)
    fit_gold = gold_tasks(result, gold)
    given = {"order": order, "cluster": cluster}
    options = {name: value for name, value in given.items() if value is not None}
    return kind_of(result).hooks.evaluate(result, truth, fit_gold=fit_gold, resamples=resamples, seed=seed, **options)


def task_names(truth: Any) -> pl.Series | None:
    """Return the tasks that a truth is about; None if it is about items."""
    if isinstance(truth, Mapping):
        return as_series(truth.keys(), "task")
    frame = task_named(to_polars(truth))
    return as_series(frame["task"], "task") if "task" in frame.columns else None


def gold_tasks(result: Result | pl.DataFrame, gold: Any = None) -> pl.Series | None:
    """Return the names of the tasks whose truth was given to the fit; None if there are none."""
    parts = []
    if gold is not None:
        names = gold.keys() if isinstance(gold, Mapping) else task_named(to_polars(gold))["task"]
        parts.append(as_series(names, "task").cast(pl.String))
    if isinstance(result, Result) and result.gold is not None:
        parts.append(result.tasks.filter(pl.Series(result.gold)).cast(pl.String))
    return pl.concat(parts) if parts else None


def kind_of(result: Result | pl.DataFrame) -> Kind:
    """Return the kind of a result, or the kind whose columns a table of results has; classes by default."""
    if isinstance(result, Result):
        return result.kind
    if "label" not in result.columns:
        for name in kinds.names():
            kind = kinds.get(name)
            has_columns = set(kind.columns) <= set(result.columns)
            if name != "classes" and has_columns and kind.hooks.supports(KindHooks.evaluate):
                return kind
    return kinds.get("classes")


def among(tasks: pl.Series, fit_gold: pl.Series | None) -> npt.NDArray[np.bool_]:
    """Return the mask of the tasks that were gold in the fit."""
    if fit_gold is None:
        return np.zeros(len(tasks), dtype=bool)
    return lookup(fit_gold.unique().sort(), tasks.cast(pl.String))[1]


# ----------------------------------------------------------------
# What the scores of all kinds do first: find the tasks that can be scored, and check tables of estimates.


@dataclass(frozen=True, eq=False)
class ScoredTasks:
    """The tasks that have an estimate and a known truth and were not gold in the fit.

    Args:
        estimate: Position of each scored task among the estimates.
        truth: Position of each scored task in the truth.
        left_out: The numbers of tasks of the truth that are not scored, as arguments of `Scores`.
    """

    estimate: npt.NDArray[np.int64]
    truth: npt.NDArray[np.int64]
    left_out: dict[str, Any]

    def __len__(self) -> int:
        return len(self.truth)


def scored_tasks(tasks: pl.Series, truth_tasks: pl.Series, fit_gold: pl.Series | None, answer: str) -> ScoredTasks:
    """Return the tasks of the truth that can be scored; messages call an estimate `answer`.

    Raises:
        DataError: If there are none.
    """
    position, has_estimate = lookup(tasks, truth_tasks)
    if not has_estimate.any():
        raise DataError(f"none of the tasks in the truth has {answer} here; do the task ids match?")
    is_gold = has_estimate & among(truth_tasks, fit_gold)
    scored = np.flatnonzero(has_estimate & ~is_gold)
    if not len(scored):
        raise DataError(ALL_GOLD.format(n=int(is_gold.sum())))
    left_out = {"truths_without_labels": int((~has_estimate).sum()), "n_gold_left_out": int(is_gold.sum())}
    return ScoredTasks(position[scored].astype(np.int64), scored, left_out)


def check_estimates(table: pl.DataFrame, column: str) -> None:
    """Raise DataError unless a table of estimates has the columns task and `column`, and each task once."""
    for name in ("task", column):
        if name not in table.columns:
            raise DataError(f"the table has no column {name!r}; it has {', '.join(table.columns)}")
    if table["task"].is_duplicated().any():
        task = table["task"].filter(table["task"].is_duplicated())[0]
        raise DataError(f"task {task!r} occurs in two rows; keep one of them")
