"""cleanlab's wide matrix: one row per task, one column per annotator, class numbers, NaN or empty cells."""

from __future__ import annotations

import re

import polars as pl

from ...core.errors import DataError
from ...core.options import ReadOptions
from ..csv.file import open_csv
from ..parquet import open_parquet
from ..sources import Source
from .base import LIKELY, FileHead, FormatMatch, ParsedFile
from .records import is_parquet

_NUMBER = re.compile(r"-?\d+(\.0*)?")
_MISSING = ("", "nan", "<na>", "none", "null")
INDEX = ("", "task", "index", "__index_level_0__")


def sniff(head: FileHead) -> FormatMatch | None:
    """Match an unnamed first column, followed by numbers and gaps."""
    cells = [cell.strip() for row in head.rows for cell in row[1:]]
    numbers = all(_NUMBER.fullmatch(cell) or cell.lower() in _MISSING for cell in cells)
    gaps = any(cell.lower() in _MISSING for cell in cells)
    if len(head.header) > 2 and not head.header[0].strip() and cells and numbers and gaps:
        return FormatMatch(LIKELY, "its first column has no name and the others hold numbers and gaps")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read the filled cells as rows; 1.0, as pandas writes 1 beside a gap, becomes 1."""
    options.allow_columns(where, "task")
    table = open_parquet(source, where) if is_parquet(source) else open_csv(source, where, "csv")
    first = next((name for name in table.header if name.strip() in INDEX), table.header[0])
    name = options.columns.get("task", first)
    if name not in table.header or len(table.header) < 2:
        raise DataError(f"{where} has no column {name!r} for the task beside those of the workers")
    workers = [column for column in table.header if column != name]
    frame = table.read(table.header).with_columns(pl.all().cast(pl.String))
    frame = frame.with_columns(pl.col(workers).str.strip_chars())  # blanks in task names are kept
    blank = frame.select(pl.all_horizontal(pl.all().fill_null("").str.strip_chars() == "")).to_series()
    frame = frame.filter(~blank)
    nameless = frame[name].fill_null("").str.strip_chars() == ""
    if nameless.any() or frame[name].is_duplicated().any():
        fault = "has no task" if nameless.any() else "repeats a task"
        row = int((nameless if nameless.any() else frame[name].is_duplicated()).arg_true()[0])
        raise DataError(f"{where}, row {row + 1}: {fault} in column {name!r}; every row needs one of its own")
    long = frame.unpivot(workers, index=name, variable_name=" worker", value_name=" label")
    long = long.filter(~pl.col(" label").fill_null("").str.to_lowercase().is_in(_MISSING))
    not_numbers = long.filter(~pl.col(" label").str.contains(f"^{_NUMBER.pattern}$"))
    if len(not_numbers):
        raise DataError(
            f"{where}: worker {not_numbers[' worker'][0]!r} has the label {not_numbers[' label'][0]!r}; "
            "cleanlab's labels are whole numbers, --format wide reads others"
        )
    label = long[" label"].str.replace(r"\.0*$", "")
    notes = (
        f"a wide table of {frame.height:,} tasks × {len(workers):,} workers; empty cells and NaN are missing labels",
    )
    return ParsedFile(
        columns={"task": long[name].rename("task"), "worker": long[" worker"].rename("worker"), "label": label},
        notes=table.notes + notes,
        tasks=frame[name].rename("task"),
        certain=True,
    )
