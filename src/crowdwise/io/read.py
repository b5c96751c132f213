"""Read votes and truths from files."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..annotations import Annotations
from ..errors import DataError, LedgerWarning, ParameterError
from ..vocabulary import as_series, quote
from .coding import Duplicates, UnknownClasses, encode
from .columns import TRUTH, VOTE, choose, values
from .sources import open_source
from .tables import Table, open_table
from .wide import read_wide

FORMATS = ("csv", "tsv", "jsonl", "parquet", "wide", "snorkel")


def read(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
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
        return _read_snorkel(path, columns, classes)
    if format == "wide":
        where, votes = read_wide(path, columns)
    else:
        where, votes = _read_long(open_table(path, format), columns)
    try:
        coded = encode(**votes, duplicates=duplicates, unknown_classes=unknown_classes, classes=classes)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    ledger = coded.ledger
    if not ledger.rows_used:
        why = "; ".join(f"{n:,} {reason}" for reason, n in ledger.dropped.items())
        raise DataError(
            f"{where}: none of its {ledger.rows_in:,} rows can be used ({why}); are these the right columns?"
            if ledger.rows_in
            else f"{where} has a header but no rows with labels; is it the right file?"
        )
    return Annotations._of(coded)


def _read_long(table: Table, columns: Mapping[str, str] | None) -> tuple[str, dict[str, Any]]:
    chosen, notes = _choose(table, columns, VOTE)
    frame = table.read(list(chosen.values()))
    picked, more = values(frame, chosen, table.where, strict_time="time" in (columns or {}))
    return table.where, {"columns": picked, "notes": table.notes + notes + more}


def _choose(
    table: Table, columns: Mapping[str, str] | None, wanted: tuple[str, ...]
) -> tuple[dict[str, str], tuple[str, ...]]:
    try:
        return choose(table.header, columns, table.where, wanted)
    except DataError:
        if table.all_names is None or set(table.all_names()) == set(table.header):
            raise
        return choose(table.all_names(), columns, table.where, wanted)


def read_truth(path: str | Path, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """A table task, label from a file, as text, each task once; rows without a label are left out with a warning."""
    table = open_table(path)
    chosen, _ = _choose(table, columns, TRUTH)
    frame = table.read(list(chosen.values()))
    try:
        frame = pl.DataFrame([as_series(frame[chosen[role]], role).cast(pl.String) for role in TRUTH])
    except DataError as error:
        raise DataError(f"{table.where}: {error}") from None
    full = frame.filter(pl.all_horizontal((pl.col(TRUTH).str.strip_chars() != "").fill_null(False)))
    if not len(full):
        raise DataError(f"{table.where} has no rows with a task and a label; is it the right file?")
    if len(full) < len(frame):
        warnings.warn(
            f"{table.where}: {len(frame) - len(full)} rows without a task or a label are left out",
            LedgerWarning,
            stacklevel=2,
        )
    full = full.unique(maintain_order=True)
    twice = full.filter(pl.col("task").is_duplicated())["task"].unique(maintain_order=True)
    if len(twice):
        raise DataError(
            f"{table.where}: {len(twice)} tasks have two different true labels: {quote(twice)}; keep one of them"
        )
    return full


def _read_snorkel(path: str | Path, columns: Mapping[str, str] | None, classes: Any) -> Annotations:
    source, where = open_source(path)
    if columns:
        raise ParameterError(f"{where}: a Snorkel matrix has no named columns; leave --columns out")
    try:
        if isinstance(source, bytes):
            matrix: npt.NDArray[Any] = np.load(io.BytesIO(source), allow_pickle=False)
        else:  # mapped, not loaded: a damaged header cannot ask for more memory than the file has bytes
            matrix = np.load(source, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        # numpy's advice would be to unpickle, which runs whatever a stranger put into the file.
        reason = "it holds no array of numbers" if "bject" in str(error) or "allow_" in str(error) else str(error)
        raise DataError(f"{where} is not a .npy file of integers ({reason}); write it with numpy.save") from None
    if not isinstance(matrix, np.ndarray):
        raise DataError(f"{where} is an archive of arrays; write the matrix alone with numpy.save")
    try:
        votes = Annotations.from_snorkel(np.ascontiguousarray(matrix))
        if not len(votes):
            raise DataError("every cell is -1, an abstention; there are no labels")
        return votes if classes is None else votes.with_classes(classes)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
