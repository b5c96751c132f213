"""Wide tables: one row per task, one column per worker, empty cells for missing answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from ..core.errors import DataError, ParameterError
from ..core.intake.matrix import melt
from ..core.vocabulary import quote
from .formats.base import ParsedFile
from .tables import FORMATS, open_table


def read_wide(path: str | Path, columns: Mapping[str, str] | None, missing: Sequence[str]) -> tuple[str, ParsedFile]:
    """Return the name of the file for messages, and its content; cells with a value in `missing` are empty."""
    has_format = str(path) == "-" or any(s.lower() in FORMATS for s in Path(path).suffixes)
    table = open_table(path, None if has_format else "csv")
    where = table.where
    header = table.header if table.all_names is None else table.all_names()
    if set(columns or {}) - {"task"}:
        raise ParameterError(f"{where}: in a wide table only the column of the task can be named: --columns task=NAME")
    name = (columns or {}).get("task", header[0] if header else "task")
    if name not in header:
        raise DataError(f"{where} has no column {name!r} for the task; it has {quote(header, 8)}")
    workers = [c for c in header if c != name]
    if not workers:
        raise DataError(f"{where} has no column besides {name!r}; a wide table has one column per worker")
    frame = table.read(header)
    dtypes = frame.schema  # read once: the property is recomputed on access, and there may be very many columns
    frame = frame.with_columns(
        _full(pl.col(c), dtypes[c], missing) for c in header if missing or dtypes[c] == pl.String
    )
    frame, notes = _named_only(frame, workers, where)
    empty = frame[name].is_null()
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if (empty & ~blank).any():
        row = int((empty & ~blank).arg_true()[0])
        raise DataError(f"{where}, row {row + 1}: labels without a task; fill in column {name!r}")
    if blank.any():
        notes += (f"{blank.sum()} blank rows are ignored",)
        frame = frame.filter(~blank)
    try:
        task, worker, label, tasks, all_workers, more = melt(frame.drop(name), frame[name], None, None)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    return where, ParsedFile(
        {"task": task, "worker": worker, "label": label},
        notes=table.notes + notes + more,
        tasks=tasks,
        all_workers=all_workers,
        decimal_comma=table.decimal_comma,
    )


def _full(cell: pl.Expr, dtype: pl.DataType, missing: Sequence[str]) -> pl.Expr:
    """Replace blank cells and missing values by null."""
    if dtype != pl.String and not missing:
        return cell
    return pl.when(~cell.cast(pl.String).str.strip_chars().is_in(["", *map(str, missing)])).then(cell)


def _named_only(frame: pl.DataFrame, workers: list[str], where: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Drop empty columns without a name, as spreadsheets leave behind; raise if such a column has values."""
    unnamed = [c for c in workers if not c.strip()]
    for column in unnamed:
        if frame[column].null_count() < frame.height:
            raise DataError(f"{where}: column {frame.columns.index(column) + 1} has labels but no name; name it")
    notes = (f"{len(unnamed)} empty columns without a name are ignored",) if unnamed else ()
    return frame.drop(unnamed), notes
