"""Scores of a result against the truth, whatever the kind of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core import kind as kinds
from ..core.errors import ParameterError
from ..core.intake.frames import to_polars
from ..core.kind import Kind, KindHooks
from ..core.result import Result
from ..core.vocabulary import as_series, lookup

ALL_GOLD = (
    "all {n:,} tasks in the truth were gold in the fit, so nothing is left to score; give the truth of other tasks, "
    "or fit without gold"
)


def evaluate(
    found: Result | pl.DataFrame,
    truth: Any,
    *,
    gold: Any = None,
    resamples: int = 0,
    seed: int = 0,
    order: Sequence[Any] | None = None,
) -> Any:
    """Score a Result, or a table task, label (with or without p_<class> columns), against truth.

    Results of other kinds than classes, and tables without labels, are scored by the scores of their kind.

    Tasks that were gold in the fit are left out: the fit was told their answers. A Result knows them; of a table, which
    does not, give the `gold` of its fit.
    `order` names classes that have an order from the lowest to the highest, where the result does not know it.
    With `resamples` (1000 will do) every score gets a 95 % interval by resampling the tasks, drawn by `seed`.

    >>> labels = pl.DataFrame({"task": ["a", "b"], "label": ["x", "y"]})
    >>> evaluate(labels, {"a": "x", "b": "x"}).accuracy
    0.5
    """
    if resamples < 0:
        raise ParameterError(f"resamples must be 0 or more, got {resamples}")
    if isinstance(found, Result) and (names := task_names(truth)) is not None:
        found = found.for_tasks(names)
    told = gold_tasks(found, gold)
    more = {} if order is None else {"order": order}
    return kind_of(found).hooks.evaluate(found, truth, told=told, resamples=resamples, seed=seed, **more)


def task_names(truth: Any) -> pl.Series | None:
    """The tasks that a truth speaks of; None where it speaks of items."""
    if isinstance(truth, Mapping):
        return as_series(truth.keys(), "task")
    frame = to_polars(truth)
    return as_series(frame["task"], "task") if "task" in frame.columns else None


def gold_tasks(found: Result | pl.DataFrame, gold: Any = None) -> pl.Series | None:
    """The tasks whose truth the fit was given, by name; None where it was given none."""
    parts = []
    if gold is not None:
        given = gold.keys() if isinstance(gold, Mapping) else to_polars(gold)["task"]
        parts.append(as_series(given, "task").cast(pl.String))
    if isinstance(found, Result) and found.gold is not None:
        parts.append(found.tasks.filter(pl.Series(found.gold)).cast(pl.String))
    return pl.concat(parts) if parts else None


def kind_of(found: Result | pl.DataFrame) -> Kind:
    """The kind of a result, or the one whose columns a table of results has; else classes."""
    if isinstance(found, Result):
        return found.kind
    if "label" not in found.columns:
        for name in kinds.names():
            kind = kinds.get(name)
            if (
                name != "classes"
                and kind.hooks.supports(KindHooks.evaluate)
                and set(kind.columns) <= set(found.columns)
            ):
                return kind
    return kinds.get("classes")


def among(tasks: pl.Series, told: pl.Series | None) -> npt.NDArray[np.bool_]:
    """Which of these tasks the fit was told of."""
    return np.zeros(len(tasks), dtype=bool) if told is None else lookup(told.unique().sort(), tasks.cast(pl.String))[1]
