"""True labels of tasks, from a mapping or any table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .errors import DataError, LedgerWarning
from .faults import caller_level
from .intake.columns import TRUTH, candidates
from .intake.frames import to_polars
from .vocabulary import Codes, as_series, lookup, quote


def truth_table(truth: Any, columns: Sequence[str] = ("label",), aliases: Sequence[str] = ()) -> pl.DataFrame:
    """Return the truth as a polars table with each task once.

    Args:
        truth: A mapping task -> label, or a table with a column `task` and these `columns`.
        columns: Columns of the answer.
        aliases: Other names that a single column may have.
    """
    names = list(columns)
    if isinstance(truth, Mapping):
        if len(names) != 1:
            raise DataError(f"truths of several parts must be a table with the columns task, {', '.join(names)}")
        values = list(truth.values())
        frame = pl.DataFrame({"task": as_series(truth.keys(), "task"), names[0]: _values(values, names[0])})
    else:
        frame = task_named(to_polars(truth))
        if names == ["label"] and "label" not in frame.columns:
            matches = candidates("label", frame.columns, TRUTH)
            frame = frame.rename({matches[0]: "label"}) if len(matches) == 1 else frame
        if len(names) == 1 and names[0] not in frame.columns:
            other = next((name for name in aliases if name in frame.columns), None)
            frame = frame if other is None else frame.rename({other: names[0]})
        for name in ("task", *names):
            if name not in frame.columns:
                raise DataError(f"the truth has no column {name!r}; it has {', '.join(frame.columns)}")
        frame = frame.select(as_series(frame["task"], "task"), *(_values(frame[name], name) for name in names))
    frame = frame.drop_nulls().unique(maintain_order=True)
    contradicted = frame.filter(frame["task"].is_duplicated())["task"].unique(maintain_order=True)
    if len(contradicted):
        raise DataError(
            f"{len(contradicted)} tasks have two different true labels: {quote(contradicted)}; keep one of them"
        )
    return frame


def task_named(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table of known answers whose column of tasks is called `task`; names are known as in files of votes."""
    matches = [] if "task" in table.columns else candidates("task", table.columns, TRUTH)
    return table.rename({matches[0]: "task"}) if len(matches) == 1 else table


def answers_truth(truth: Any, column: str, coder: Callable[[dict[str, Any]], Any]) -> tuple[pl.Series, Any]:
    """Return the tasks of a truth and their answers, for kinds whose answer is one column of JSON.

    Args:
        truth: A mapping task -> answer, or a table with a column `task` and the answer's `column` (or `label`).
        column: Column of the answer.
        coder: The coder of the kind, which has the `texts` of its answers.
    """
    if isinstance(truth, dict):
        truth = pl.DataFrame({"task": pl.Series(list(truth)), column: coder({column: list(truth.values())}).texts})
    table = truth_table(truth, (column,), aliases=("label",))
    try:
        return table["task"], coder({column: table[column]}).finish()
    except DataError as error:
        raise DataError(f"the truth: {error}") from None


def place_answers(tasks: pl.Series, answers: Any, all_tasks: pl.Series) -> tuple[npt.NDArray[np.int64], Any]:
    """Return the codes of the gold tasks among all tasks, and the answers of these; warn about the others."""
    task, is_known = place_gold(tasks.to_frame("task"), all_tasks)
    return task[is_known].astype(np.int64), answers.take(np.flatnonzero(is_known))


def place_gold(table: pl.DataFrame, tasks: pl.Series) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Return the codes of the gold tasks, and which of them are among the tasks; warn about the others."""
    task, is_known = lookup(tasks, table["task"])
    if not is_known.all():
        unknown = table["task"].filter(~pl.Series(is_known))
        if len(unknown) == len(table):
            raise DataError(f"none of the {len(table)} gold tasks is among the annotated tasks ({quote(unknown)})")
        warnings.warn(
            f"{len(unknown)} gold tasks have no annotations and are left out: {quote(unknown)}",
            LedgerWarning,
            stacklevel=caller_level(),
        )
    return task, is_known


def _values(values: Any, name: str) -> pl.Series:
    if name == "label":
        return as_series(values, name)
    series = values.rename(name) if isinstance(values, pl.Series) else to_polars({name: values})[name]
    return series.fill_nan(None) if series.dtype.is_float() else series
