"""The first pass: every file is read once, and its rows are put down again by where their task belongs.

A piece of rows is coded by a vocabulary of its own and sorted by the upper bits of the hash of its tasks, so that any
run of buckets can be read back from it without the rest. What the codes mean for all pieces together is known at the
end, when the vocabularies are merged.
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

from ..core import ledger as reasons
from ..core.errors import DataError
from ..core.intake.coding import NUMBERS
from ..core.intake.column import Column
from ..core.vocabulary import as_series, lookup, union
from ..stats.hashing import name_hash
from .pieces import Piece

I8 = npt.NDArray[np.int64]
# The finest buckets, by the upper bits of the hash: parts are runs of them.
BITS = 12
FINEST = 1 << BITS
# Rows that are read back at a time at least.
BATCH = 1 << 14


@dataclass(frozen=True)
class Written:
    """A piece on disk: rows of bucket b are bounds[b] .. bounds[b + 1], those that only name a task silent[b] ..."""

    path: Path
    bounds: I8
    unlabelled: I8
    workers: pl.Series
    labels: pl.Series
    times: I8  # how often each label of the piece was said
    unusable: I8  # rows without a label of each worker of the piece
    numbers: tuple[str, ...]
    rows_in: int
    dropped: Counter[str]
    notes: tuple[str, ...]
    text: bool  # whether its tasks are text
    decimal_comma: bool
    seen: set[str] = field(default_factory=set)  # of the values that stand for nothing, those that occurred

    @property
    def n_rows(self) -> int:
        """Rows that have a task, a worker and a label."""
        return int(self.bounds[-1])

    def rows(self, lo: int, hi: int) -> pl.DataFrame:
        """The rows of buckets lo .. hi."""
        start, end = int(self.bounds[lo]), int(self.bounds[hi])
        return pl.scan_ipc(self.path, glob=False).slice(start, end - start).collect()

    def unlabelled_tasks(self, lo: int, hi: int) -> pl.Series:
        """Tasks of buckets lo .. hi that a row without a worker or a label names."""
        start, end = int(self.unlabelled[lo]), int(self.unlabelled[hi])
        path = _unlabelled_path(self.path)
        return pl.read_ipc(path)["task"][start:end] if end > start else pl.Series("task", [], dtype=pl.String)


def write_piece(piece: Piece, number: int, folder: Path, missing: Sequence[str], grouped: bool) -> Written:
    """Code the rows of a piece and put them down by the buckets of their tasks; grouped ones stay where they are."""
    task, no_task, missing_seen = _tasks(piece, missing)
    names = {role: Column.of(_whole(piece, role), role) for role in ("worker", "label")}
    missing_seen = missing_seen.union(*(column.leave_out(missing) for column in names.values()) if missing else ())
    keep, dropped = _kept(no_task, *(names[role].null for role in ("worker", "label")))
    worker, label = names["worker"], names["label"]
    unlabelled = np.flatnonzero(~keep & ~no_task)
    unusable = np.bincount(worker.codes[unlabelled][~_null(worker)[unlabelled]], minlength=len(worker.vocabulary))
    at = np.zeros(len(task), dtype=np.uint16)
    if not grouped:
        at = (name_hash(task) >> np.uint64(64 - BITS)).astype(np.uint16)
    rows = np.flatnonzero(keep)
    order = rows[np.argsort(at[rows], kind="stable")]
    numbers = {name: piece.columns[name] for name in NUMBERS if name in piece.columns}
    _check_weights(numbers, rows, piece)
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
        dropped,
        (*piece.notes, *worker.lost()),
        task.dtype == pl.String,
        piece.decimal_comma,
        missing_seen,
    )


def _unlabelled_path(path: Path) -> Path:
    return path.with_suffix(".silent.arrow")


def _whole(piece: Piece, role: str) -> pl.Series:
    """A column of names; fractions are none, since the next piece may have none and would be read otherwise."""
    values: pl.Series = piece.columns[role]
    if values.dtype.is_float():
        some = values.drop_nans().drop_nulls()
        if not bool((some == some.round()).all()):
            raise DataError(
                f"{piece.where}: column {values.name!r} holds fractions, which are no names where votes are read in "
                "parts; write them as text"
            )
    return values


def _tasks(piece: Piece, missing: Sequence[str]) -> tuple[pl.Series, npt.NDArray[np.bool_], set[str]]:
    """Tasks as text or whole numbers, which rows have none, and which values that stand for nothing were there."""
    series = as_series(_whole(piece, "task"), "task")
    if series.dtype != pl.Int64:
        series = series.cast(pl.String)
        if bool(series.str.contains("\0", literal=True).any()):
            raise DataError(f"{piece.where}: column 'task' holds a NUL byte; the file is binary or damaged")
        none = (series.str.strip_chars().str.len_bytes() == 0).fill_null(True)
    else:
        none = series.is_null()
    missing_seen: set[str] = set()
    if missing:
        texts = series.cast(pl.String).str.strip_chars()
        hit = texts.is_in([name.strip() for name in missing]).fill_null(False)
        missing_seen, none = set(texts.filter(hit).to_list()), none | hit
    return series, none.to_numpy(), missing_seen


def _null(column: Column) -> npt.NDArray[np.bool_]:
    return np.zeros(len(column), dtype=bool) if column.null is None else column.null


def _kept(task: npt.NDArray[np.bool_], *others: Any) -> tuple[npt.NDArray[np.bool_], Counter[str]]:
    """Rows with a task, a worker and a label; the others by their first reason."""
    worker, label = (np.zeros(len(task), dtype=bool) if null is None else null for null in others)
    keep, dropped = np.ones(len(task), dtype=bool), Counter[str]()
    for reason, mask in (
        (reasons.BLANK, task & worker & label),
        (reasons.NULL_TASK, task),
        (reasons.NULL_WORKER, worker),
        (reasons.NULL_LABEL, label),
    ):
        dropped[reason] += int((keep & mask).sum())
        keep &= ~mask
    return keep, dropped


def _check_weights(numbers: dict[str, Any], rows: I8, piece: Piece) -> None:
    weight = numbers.get("weight")
    if weight is None:
        return
    bad = rows[~(np.isfinite(weight[rows]) & (weight[rows] >= 0))]
    if len(bad):
        row = int(bad[0])
        raise DataError(f"{piece.where}, row {row + 1}: weight {weight[row]} is not a finite number from 0 up")


def _bounds(at: npt.NDArray[np.uint16]) -> I8:
    """Where each bucket's rows begin in rows sorted by bucket."""
    return np.searchsorted(at, np.arange(FINEST + 1)).astype(np.int64)


def merged(vocabularies: Sequence[pl.Series], name: str) -> tuple[pl.Series, list[npt.NDArray[np.int32]]]:
    """All vocabularies in one, sorted; and where the codes of each move to."""
    vocabulary = pl.Series(name, [], dtype=pl.String if any(v.dtype == pl.String for v in vocabularies) else pl.Int64)
    for lo in range(0, len(vocabularies), 64):  # so many at a time: a sort each would go over all of them again
        some = [v.cast(vocabulary.dtype) for v in vocabularies[lo : lo + 64]]
        vocabulary = union(vocabulary, pl.concat([some_vocabulary.rename(name) for some_vocabulary in some]).unique())
    return vocabulary.rename(name), [lookup(vocabulary, piece_vocabulary)[0] for piece_vocabulary in vocabularies]
