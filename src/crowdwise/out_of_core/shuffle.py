"""First pass over the votes: read every file once, and write its rows sorted by the bucket of their task.

A chunk of rows is coded by its own vocabularies and sorted by the upper bits of the hash of its tasks, so that any
range of buckets can be read back without the rest. The vocabularies are merged after the pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import I8
from ..core.errors import DataError
from ..core.intake.coding import NUMBERS, complete_rows
from ..core.intake.column import Column
from ..core.vocabulary import as_series, lookup, union
from ..stats.hashing import name_hash
from .chunks import RowChunk

# Buckets by the upper bits of the hash; parts are ranges of them.
BITS = 12
FINEST = 1 << BITS
# Rows of a record batch, the least that is read back.
BATCH = 1 << 14


@dataclass(frozen=True)
class Written:
    """A chunk on disk: rows of bucket b are bounds[b] .. bounds[b + 1]; `unlabelled` bounds those without a label."""

    path: Path
    bounds: I8
    unlabelled: I8
    workers: pl.Series
    labels: pl.Series
    times: I8  # count of each label of the chunk
    unusable: I8  # rows without a label of each worker of the chunk
    numbers: tuple[str, ...]
    rows_in: int
    dropped: Counter[str]
    notes: tuple[str, ...]
    text: bool  # whether tasks are text
    decimal_comma: bool
    missing_values: set[str] = field(default_factory=set)  # values that stand for a missing label and occurred

    @property
    def n_rows(self) -> int:
        """Number of rows with a task, a worker and a label."""
        return int(self.bounds[-1])

    def rows(self, lo: int, hi: int) -> pl.DataFrame:
        """Return the rows of buckets lo .. hi."""
        start, end = int(self.bounds[lo]), int(self.bounds[hi])
        return pl.scan_ipc(self.path, glob=False).slice(start, end - start).collect()

    def unlabelled_tasks(self, lo: int, hi: int) -> pl.Series:
        """Return the tasks of buckets lo .. hi of rows without a worker or a label."""
        start, end = int(self.unlabelled[lo]), int(self.unlabelled[hi])
        path = _unlabelled_path(self.path)
        return pl.read_ipc(path)["task"][start:end] if end > start else pl.Series("task", [], dtype=pl.String)


def write_chunk(chunk: RowChunk, number: int, folder: Path, missing: Sequence[str], grouped: bool) -> Written:
    """Code the rows of a chunk and write them sorted by the buckets of their tasks; grouped ones keep their order."""
    task, no_task, missing_values = _tasks(chunk, missing)
    names = {role: Column.of(_whole(chunk, role), role) for role in ("worker", "label")}
    missing_values = missing_values.union(*(column.leave_out(missing) for column in names.values()) if missing else ())
    worker, label = names["worker"], names["label"]
    dropped, keep = complete_rows(len(task), no_task, worker.null, label.null)
    unlabelled = np.flatnonzero(~keep & ~no_task)
    unusable = np.bincount(worker.codes[unlabelled][~_null(worker)[unlabelled]], minlength=len(worker.vocabulary))
    at = np.zeros(len(task), dtype=np.uint16)
    if not grouped:
        at = (name_hash(task) >> np.uint64(64 - BITS)).astype(np.uint16)
    rows = np.flatnonzero(keep)
    order = rows[np.argsort(at[rows], kind="stable")]
    numbers = {name: chunk.columns[name] for name in NUMBERS if name in chunk.columns}
    _check_weights(numbers, rows, chunk)
    path = folder / f"piece-{number:05d}.arrow"
    pl.DataFrame(
        {
            "task": task.gather(order),
            "worker": worker.codes[order],
            "label": label.codes[order],
            **{name: np.asarray(values, dtype=np.float64)[order] for name, values in numbers.items()},
        }
    ).write_ipc(path, record_batch_size=BATCH)
    unlabelled = unlabelled[np.argsort(at[unlabelled], kind="stable")]
    if len(unlabelled):
        pl.DataFrame({"task": task.gather(unlabelled)}).write_ipc(_unlabelled_path(path))
    return Written(
        path,
        _bounds(at[order]),
        _bounds(at[unlabelled]),
        worker.vocabulary,
        label.vocabulary,
        np.bincount(label.codes[rows], minlength=len(label.vocabulary)),
        unusable,
        tuple(numbers),
        len(task),
        Counter(dropped),
        (*chunk.notes, *worker.lost()),
        task.dtype == pl.String,
        chunk.decimal_comma,
        missing_values,
    )


def _unlabelled_path(path: Path) -> Path:
    return path.with_suffix(".silent.arrow")


def _whole(chunk: RowChunk, role: str) -> pl.Series:
    """Return a column of names. Fractions are refused: chunks with and without them would be read differently."""
    values: pl.Series = chunk.columns[role]
    if values.dtype.is_float():
        some = values.drop_nans().drop_nulls()
        if not bool((some == some.round()).all()):
            raise DataError(
                f"{chunk.where}: column {values.name!r} holds fractions, which are no names where votes are read in "
                "parts; write them as text"
            )
    return values


def _tasks(chunk: RowChunk, missing: Sequence[str]) -> tuple[pl.Series, npt.NDArray[np.bool_], set[str]]:
    """Return tasks as text or whole numbers, which rows have none, and the missing values that occurred."""
    series = as_series(_whole(chunk, "task"), "task")
    if series.dtype != pl.Int64:
        series = series.cast(pl.String)
        if bool(series.str.contains("\0", literal=True).any()):
            raise DataError(f"{chunk.where}: column 'task' holds a NUL byte; the file is binary or damaged")
        none = (series.str.strip_chars().str.len_bytes() == 0).fill_null(True)
    else:
        none = series.is_null()
    missing_values: set[str] = set()
    if missing:
        texts = series.cast(pl.String).str.strip_chars()
        hit = texts.is_in([name.strip() for name in missing]).fill_null(False)
        missing_values, none = set(texts.filter(hit).to_list()), none | hit
    return series, none.to_numpy(), missing_values


def _null(column: Column) -> npt.NDArray[np.bool_]:
    return np.zeros(len(column), dtype=bool) if column.null is None else column.null


def _check_weights(numbers: dict[str, Any], rows: I8, chunk: RowChunk) -> None:
    weight = numbers.get("weight")
    if weight is None:
        return
    bad = rows[~(np.isfinite(weight[rows]) & (weight[rows] >= 0))]
    if len(bad):
        row = int(bad[0])
        raise DataError(f"{chunk.where}, row {row + 1}: weight {weight[row]} is not a finite number from 0 up")


def _bounds(at: npt.NDArray[np.uint16]) -> I8:
    """Return the first row of each bucket in rows sorted by bucket."""
    return np.searchsorted(at, np.arange(FINEST + 1)).astype(np.int64)


def merged(vocabularies: Sequence[pl.Series], name: str) -> tuple[pl.Series, list[npt.NDArray[np.int32]]]:
    """Return the sorted union of the vocabularies, and a table from the codes of each to those of the union."""
    vocabulary = pl.Series(name, [], dtype=pl.String if any(v.dtype == pl.String for v in vocabularies) else pl.Int64)
    for lo in range(0, len(vocabularies), 64):  # in batches, since each union sorts everything
        some = [v.cast(vocabulary.dtype) for v in vocabularies[lo : lo + 64]]
        vocabulary = union(vocabulary, pl.concat([some_vocabulary.rename(name) for some_vocabulary in some]).unique())
    return vocabulary.rename(name), [lookup(vocabulary, chunk_vocabulary)[0] for chunk_vocabulary in vocabularies]
