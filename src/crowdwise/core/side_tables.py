"""Side tables about tasks and workers, and links between tasks, that are attached to votes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import polars as pl

from .arrays import F8, I4
from .errors import DataError
from .intake.frames import to_polars
from .vocabulary import as_series, lookup, quote

# ----------------------------------------------------------------
# Links between tasks that belong together, with weights.

COLUMNS = ("task", "other", "weight")


def link_table(links: Any) -> pl.DataFrame:
    """Return a table task, other, weight from pairs, or from a table of two or three columns (the third is the weight).

    Links are undirected. A task's link to itself is left out; of two links between the same tasks the stronger counts.
    """
    if isinstance(links, list | tuple):
        links = {"task": [pair[0] for pair in links], "other": [pair[1] for pair in links]}
    frame = to_polars(links)
    if frame.width not in (2, 3):
        raise DataError(
            f"links are two columns of tasks, and a third with weights if there is one; got {frame.columns}"
        )
    first, second = (as_series(frame[name], name).cast(pl.String) for name in frame.columns[:2])
    weight = np.ones(len(frame))
    if frame.width == 3:
        numbers = frame[frame.columns[2]].cast(pl.Float64, strict=False)
        bad = (~(numbers.is_finite() & (numbers >= 0))).fill_null(True).arg_true()
        if len(bad):
            row = int(bad[0])
            raise DataError(f"row {row + 1}: the weight {quote([frame[row, 2]])} of a link is not a number from 0 up")
        weight = numbers.to_numpy()
    if first.null_count() or second.null_count():
        raise DataError("links have rows without a task; fill them in or leave them out")
    return pl.DataFrame({"task": first, "other": second, "weight": weight}).filter(pl.col("task") != pl.col("other"))


def codes(links: pl.DataFrame, tasks: pl.Series) -> tuple[I4, I4, F8]:
    """Return both ends as codes, and the weights, of links between these tasks; each once, the lower code first."""
    first_code, first_known = lookup(tasks, links["task"])
    second_code, second_known = lookup(tasks, links["other"])
    inside = first_known & second_known
    low, high = np.minimum(first_code[inside], second_code[inside]), np.maximum(first_code[inside], second_code[inside])
    weight = links["weight"].to_numpy()[inside]
    key = low.astype(np.int64) * max(len(tasks), 1) + high
    order = np.lexsort((-weight, key))
    first = np.concatenate([[True], np.diff(key[order]) != 0])[: len(order)]
    keep = order[first]
    return low[keep], high[keep], weight[keep]


# One row per task or worker; the first column is `task` or `worker`.
SideTable: TypeAlias = pl.DataFrame | None


def side_table(frame: Any, key: str, vocabulary: pl.Series) -> pl.DataFrame:
    """Return a user's table keyed by task or worker, without keys that are not among the votes."""
    table = to_polars(frame)
    if key not in table.columns:
        raise DataError(f"a table about {key}s needs a column {key!r}; it has {quote(table.columns, 8)}")
    names = as_series(table[key], key)
    if vocabulary.dtype != names.dtype:
        names = names.cast(pl.String)
    repeated = names.filter(names.is_duplicated()).unique(maintain_order=True)
    if len(repeated):
        raise DataError(
            f"{len(repeated)} {key}s occur more than once in the table about them: {quote(repeated)}; keep one row each"
        )
    table = table.with_columns(names.alias(key)).select(key, pl.exclude(key))
    is_known = lookup(vocabulary, table[key])[1]
    return table.filter(pl.Series(is_known))


def narrowed(table: SideTable, vocabulary: pl.Series) -> SideTable:
    """Return the rows whose key is in the vocabulary."""
    if table is None:
        return None
    is_known = lookup(vocabulary, table.to_series(0))[1]
    return table.filter(pl.Series(is_known))


def joined(first: SideTable, second: SideTable) -> SideTable:
    """Merge two tables; where both have a value for a key, the second one counts, column by column."""
    if first is None or second is None:
        return second if first is None else first
    key = first.columns[0]
    if first.schema[key] != second.schema[key]:
        first, second = (t.with_columns(pl.col(key).cast(pl.String)) for t in (first, second))
    table = pl.concat([second, first], how="diagonal_relaxed")
    return table.group_by(key, maintain_order=True).agg(pl.all().drop_nulls().first()).sort(key)


def column_by(table: SideTable, name: str, vocabulary: pl.Series) -> pl.Series | None:
    """Return a column in the order of the vocabulary, null where it is missing; None without such a column."""
    if table is None or name not in table.columns:
        return None
    code, is_known = lookup(table.to_series(0), vocabulary)
    values = table[name].gather(code.tolist()) if table.height else pl.Series(name, [None] * len(vocabulary))
    return values.set(~pl.Series(is_known), None) if not is_known.all() else values


def as_share(value: Any) -> float | None:
    """Return a number between 0 and 1; anything else is missing, so that an invalid confidence drops no answer."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if good else None
