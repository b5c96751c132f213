"""What else is known of tasks and workers: tables by name that travel with the votes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from .errors import DataError
from .intake.frames import to_polars
from .vocabulary import as_series, lookup, quote

# ----------------------------------------------------------------
# Links between tasks: which belong together, and how strongly.

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
COLUMNS = ("task", "other", "weight")


def link_table(links: Any) -> pl.DataFrame:
    """A table task, other, weight from a table of two or three columns (the third is the weight), or from pairs.

    Links have no direction. A task's link to itself says nothing and is left out; of two links between the same tasks
    the stronger one counts.
    """
    if isinstance(links, list | tuple):
        links = {"task": [pair[0] for pair in links], "other": [pair[1] for pair in links]}
    frame = to_polars(links)
    if frame.width not in (2, 3):
        raise DataError(
            f"links are two columns of tasks, and a third with weights if there is one; got {frame.columns}"
        )
    one, two = (as_series(frame[name], name).cast(pl.String) for name in frame.columns[:2])
    weight = np.ones(len(frame))
    if frame.width == 3:
        numbers = frame[frame.columns[2]].cast(pl.Float64, strict=False)
        bad = (~(numbers.is_finite() & (numbers >= 0))).fill_null(True).arg_true()
        if len(bad):
            row = int(bad[0])
            raise DataError(f"row {row + 1}: the weight {quote([frame[row, 2]])} of a link is no number from 0 up")
        weight = numbers.to_numpy()
    if one.null_count() or two.null_count():
        raise DataError("links have rows without a task; fill them in or leave them out")
    return pl.DataFrame({"task": one, "other": two, "weight": weight}).filter(pl.col("task") != pl.col("other"))


def codes(links: pl.DataFrame, tasks: pl.Series) -> tuple[I4, I4, F8]:
    """Both ends as codes and the weights, of links between these tasks; each once, the lower code first."""
    one, here = lookup(tasks, links["task"])
    two, there = lookup(tasks, links["other"])
    both = here & there
    low, high = np.minimum(one[both], two[both]), np.maximum(one[both], two[both])
    weight = links["weight"].to_numpy()[both]
    key = low.astype(np.int64) * max(len(tasks), 1) + high
    order = np.lexsort((-weight, key))
    first = np.concatenate([[True], np.diff(key[order]) != 0])[: len(order)]
    keep = order[first]
    return low[keep], high[keep], weight[keep]


# A row for each that something is known of; its first column is `task` or `worker`.
SideTable: TypeAlias = pl.DataFrame | None


def side_table(frame: Any, key: str, vocabulary: pl.Series) -> pl.DataFrame:
    """A user's table by task or worker, each once; who is not among the votes is left out."""
    table = to_polars(frame)
    if key not in table.columns:
        raise DataError(f"a table about {key}s needs a column {key!r}; it has {quote(table.columns, 8)}")
    names = as_series(table[key], key)
    if vocabulary.dtype != names.dtype:
        names = names.cast(pl.String)
    twice = names.filter(names.is_duplicated()).unique(maintain_order=True)
    if len(twice):
        raise DataError(f"{len(twice)} {key}s stand twice in the table about them: {quote(twice)}; keep one row each")
    table = table.with_columns(names.alias(key)).select(key, pl.exclude(key))
    known = lookup(vocabulary, table[key])[1]
    return table.filter(pl.Series(known))


def narrowed(table: SideTable, vocabulary: pl.Series) -> SideTable:
    """The rows about members of the vocabulary."""
    if table is None:
        return None
    known = lookup(vocabulary, table.to_series(0))[1]
    return table.filter(pl.Series(known))


def joined(first: SideTable, second: SideTable) -> SideTable:
    """Both tables; where both speak of one name, the later one is believed, column by column."""
    if first is None or second is None:
        return second if first is None else first
    key = first.columns[0]
    if first.schema[key] != second.schema[key]:
        first, second = (t.with_columns(pl.col(key).cast(pl.String)) for t in (first, second))
    both = pl.concat([second, first], how="diagonal_relaxed")
    return both.group_by(key, maintain_order=True).agg(pl.all().drop_nulls().first()).sort(key)


def column_by(table: SideTable, name: str, vocabulary: pl.Series) -> pl.Series | None:
    """A column in the order of the vocabulary, null where nothing is known; None without such a column."""
    if table is None or name not in table.columns:
        return None
    code, known = lookup(table.to_series(0), vocabulary)
    values = table[name].gather(code.tolist()) if table.height else pl.Series(name, [None] * len(vocabulary))
    return values.set(~pl.Series(known), None) if not known.all() else values


def as_share(value: Any) -> float | None:
    """A number between 0 and 1; anything else is missing: no answer is thrown away for an odd confidence."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if good else None
