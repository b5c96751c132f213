"""Read votes and truths from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..annotations import Annotations
from ..errors import DataError, ParameterError
from .coding import Duplicates, UnknownClasses, encode
from .columns import choose, pick
from .tables import open_table

FORMATS = ("csv", "tsv", "jsonl", "parquet", "wide", "snorkel")


def read(
    path: str | Path,
    *,
    columns: dict[str, str] | None = None,
    duplicates: Duplicates = "error",
    format: str | None = None,
    classes: Any = None,
    unknown_classes: UnknownClasses = "error",
) -> Annotations:
    """Annotations from a file: .csv, .tsv, .jsonl, .parquet (+ .gz, .zst), .npy (Snorkel's L), `-` for stdin.

    `columns` maps task, worker, label (and time, weight) to the file's column names where they differ.
    `format="wide"` reads a table with one column per worker, whose first column names the task.
    """
    if format is not None and format not in FORMATS:
        raise ParameterError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    if format == "snorkel" or (format is None and str(path).endswith(".npy")):
        return Annotations.from_snorkel(_load_npy(Path(path)))
    if format == "wide":
        return _read_wide(path, columns, classes)
    table = open_table(path, format)
    chosen, notes = choose(table.header, columns, table.where)
    frame = table.read(list(chosen.values()))
    picked, more = pick(frame, {**(columns or {}), **_explicit(chosen, columns)}, table.where, table.notes)
    coded = encode(
        picked,
        duplicates=duplicates,
        unknown_classes=unknown_classes,
        classes=classes,
        notes=more or notes,
    )
    if coded.ledger.rows_in == 0:
        raise DataError(f"{table.where} has a header but no rows")
    return Annotations._of(coded)


def read_truth(path: str | Path, *, columns: dict[str, str] | None = None) -> pl.DataFrame:
    """A table task, label from a file, as text; rows without a label are left out."""
    table = open_table(path)
    chosen, _ = choose(table.header, columns, table.where, wanted=("task", "label"))
    frame = table.read([chosen["task"], chosen["label"]])
    frame = frame.select(
        pl.col(chosen["task"]).cast(pl.String).alias("task"),
        pl.col(chosen["label"]).cast(pl.String).alias("label"),
    )
    frame = frame.filter((pl.col("label").str.strip_chars() != "") & (pl.col("task").str.strip_chars() != ""))
    if not len(frame):
        raise DataError(f"{table.where} has no rows with a task and a label")
    return frame


def _explicit(chosen: dict[str, str], columns: dict[str, str] | None) -> dict[str, str]:
    # A time column found by name may turn out unreadable; only one that was asked for is worth an error.
    return {role: name for role, name in chosen.items() if role != "time" or role in (columns or {})}


def _read_wide(path: str | Path, columns: dict[str, str] | None, classes: Any) -> Annotations:
    suffix_known = str(path) == "-" or not str(path).endswith(".wide")
    table = open_table(path, None if suffix_known else "csv")
    name = (columns or {}).get("task", table.header[0])
    if name not in table.header:
        raise DataError(f"{table.where} has no column {name!r} for the task")
    workers = [c for c in table.header if c != name]
    if not workers:
        raise DataError(f"{table.where} has no column besides {name!r}; a wide table has one column per worker")
    frame = table.read(table.header)
    text = [
        pl.when(pl.col(c).cast(pl.String).str.strip_chars() != "").then(pl.col(c).cast(pl.String)).alias(c)
        for c in table.header
    ]
    frame = frame.select(text)
    if frame[name].null_count():
        row = int(frame[name].is_null().arg_true()[0])
        raise DataError(f"{table.where}, row {row + 1}: the task is empty")
    return Annotations.from_matrix(frame.select(workers), tasks=frame[name], classes=classes)


def _load_npy(path: Path) -> Any:
    if not path.exists():
        raise DataError(f"{path}: there is no such file")
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{path.name} is not a .npy file of integers ({error})") from error
