"""Encode the user's columns as integer codes, and account for nulls, repeats and unknown values in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from .. import ledger as reasons
from ..answers import Answers, Coder
from ..arrays import F8, Mask
from ..errors import DataError
from ..ledger import Ledger
from ..order import order_by
from ..vocabulary import Codes, sorted_vocabulary
from .column import Column
from .repeats import (
    Duplicates,
    check_duplicates,
    describe_answers,
    occasion_codes,
    repeat_weights,
    resolve,
    split_versions,
    unusable_counts,
)

A = TypeVar("A", bound=Answers)
# Numbers of a row besides task, worker and answer; NaN where missing (except for weights).
NUMBERS = ("weight", "time", "duration", "confidence")
# Removes the columns of its kind from the mapping, so that they can be freed as soon as they are encoded.
MakeCoder = Callable[[dict[str, Any]], Coder]


@dataclass(frozen=True, eq=False, repr=False)
class Coded(Generic[A]):
    """The fields of votes: codes into vocabularies, rows sorted by task and worker."""

    task: Codes
    worker: Codes
    answers: A
    tasks: pl.Series
    workers: pl.Series
    weight: F8 | None = None
    time: F8 | None = None
    duration: F8 | None = None
    confidence: F8 | None = None
    ledger: Ledger = field(default_factory=lambda: Ledger(0, 0))
    about_rows: pl.DataFrame | None = None
    about_workers: pl.DataFrame | None = None


def encode(
    columns: dict[str, Any],
    make_coder: MakeCoder,
    *,
    duplicates: Duplicates = "error",
    tasks: Any = None,
    workers: Any = None,
    notes: tuple[str, ...] = (),
    missing: Sequence[Any] = (),
) -> Coded[Any]:
    """Encode the columns of votes; the rows are sorted, and the ledger accounts for every row.

    Args:
        columns: The columns task, worker, those of the answer, NUMBERS, and `about_rows` (a table about the rows, see
            repeats.py). Columns are removed from the mapping as they are encoded.
        make_coder: Creates the coder of the answers.
        duplicates: What to do with repeated answers of a worker to a task.
        tasks: Names that the column task must be among (None: any).
        workers: Names that the column worker must be among (None: any).
        notes: Notes for the ledger.
        missing: Values that count as empty cells.
    """
    check_duplicates(duplicates)
    # Removed from the mapping: a column of text is freed as soon as it is encoded.
    about: pl.DataFrame | None = columns.pop("about_rows", None)
    if about is not None and "version" in about.columns:
        columns["worker"], version_notes = split_versions(columns["worker"], about["version"])
        notes += version_notes
    parts = {name: Column.of(columns.pop(name), name) for name in ("task", "worker")}
    coder = make_coder(columns)
    n_rows = _length(parts, coder)
    users = {name: columns.get(name) for name in NUMBERS}
    numbers = {name: _numbers(values, name, n_rows) for name, values in users.items()}
    notes += _leave_out([*parts.values(), coder], missing)
    dropped, keep = _rows_to_keep(parts, coder, {"task": tasks, "worker": workers})
    rows = _EncodedRows(parts, coder.finish(), numbers, about)
    unanswered = _unanswered_rows(parts, coder)
    rows.take(None if keep.all() else np.flatnonzero(keep))
    repeats = rows.sort_and_resolve(duplicates)
    if duplicates in ("first", "last") and repeats.get(reasons.CONTRADICTION) and numbers["time"] is None:
        notes += (f"there is no column of times, so --duplicates {duplicates} goes by the order of the rows",)
    notes += (
        rows.weigh_repeats()
        + coder.notes(rows.answers)
        + tuple(note for part in parts.values() for note in part.lost())
    )
    return Coded(
        task=np.ascontiguousarray(rows.task, dtype=np.int32),
        worker=np.ascontiguousarray(rows.worker, dtype=np.int32),
        answers=rows.answers,
        tasks=parts["task"].vocabulary,
        workers=parts["worker"].vocabulary,
        **{name: _owned(values, users[name]) for name, values in rows.numbers.items()},
        ledger=Ledger(n_rows, len(rows.task), dropped | repeats, notes),
        about_rows=rows.about,
        about_workers=None if unanswered is None else unusable_counts(*unanswered, parts["worker"].vocabulary),
    )


class _EncodedRows:
    """Codes, answers and numbers of the rows, which are selected and ordered together."""

    def __init__(
        self, parts: Mapping[str, Column], answers: Answers, numbers: dict[str, F8 | None], about: pl.DataFrame | None
    ) -> None:
        self.parts, self.answers, self.numbers, self.about = parts, answers, numbers, about
        self.occasion, self.n_occasions = occasion_codes(about)
        self.task, self.worker = parts["task"].codes, parts["worker"].codes

    def take(self, order: npt.NDArray[np.int64] | None) -> None:
        """Keep these rows, in this order (None: all, unchanged)."""
        if order is None:
            return
        self.task, self.worker, self.answers = self.task[order], self.worker[order], self.answers.take(order)
        self.about = None if self.about is None else self.about[order]
        self.occasion = None if self.occasion is None else self.occasion[order]
        for name, values in self.numbers.items():
            self.numbers[name] = None if values is None else values[order]

    def sort_and_resolve(self, duplicates: Duplicates) -> dict[str, int]:
        """Sort by task and worker and resolve repeats; return how many were dropped for which reason."""
        n_tasks, n_workers = (len(self.parts[name].vocabulary) for name in ("task", "worker"))
        minor = self.worker if self.occasion is None else self.worker * np.int64(self.n_occasions) + self.occasion
        self.take(order_by(self.task, n_tasks, minor, n_workers * self.n_occasions))
        keys = self.answers.keys()
        rows, repeats = resolve(self.task, self.worker, keys, self.numbers, duplicates, self._describe, self.occasion)
        self.take(rows)
        return repeats

    def weigh_repeats(self) -> tuple[str, ...]:
        """Give the rows of a worker on a task a total weight of one if they are occasions and have no weights."""
        if self.occasion is None or self.numbers["weight"] is not None:
            return ()
        self.numbers["weight"], notes = repeat_weights(self.task, self.worker)
        return notes

    def _describe(self, rows: npt.NDArray[np.int64]) -> str:
        row = int(rows[0])
        task, worker = self.parts["task"].vocabulary, self.parts["worker"].vocabulary
        return describe_answers(task[int(self.task[row])], worker[int(self.worker[row])], self.answers.words(rows))


def _length(parts: Mapping[str, Column], coder: Coder) -> int:
    """Return the number of rows, which must be the same in every column."""
    n_rows = len(parts["task"])
    for name, size in (("worker", len(parts["worker"])), ("label", len(coder))):
        if size != n_rows:
            raise DataError(f"task has {n_rows} rows but {name} has {size}; columns must be equally long")
    return n_rows


def _rows_to_keep(
    parts: Mapping[str, Column], coder: Coder, vocabularies: Mapping[str, Any]
) -> tuple[dict[str, int], npt.NDArray[np.bool_]]:
    """Return how many rows are dropped for which reason (nulls, unknown names, answers), and which rows to keep."""
    dropped, keep = complete_rows(len(parts["task"]), parts["task"].null, parts["worker"].null, coder.null)
    for name, names in vocabularies.items():
        if names is not None:
            keep &= parts[name].recode(sorted_vocabulary(names, name), keep, dropped)
    admitted = coder.admit(keep, dropped)
    if admitted is not None:
        keep &= admitted
    return dropped, keep


def _leave_out(parts: Sequence[Column | Coder], missing: Sequence[Any]) -> tuple[str, ...]:
    """Drop values that count as missing; return a note for each that does not occur, which may be a typo."""
    names = [str(value).strip() for value in missing]
    if not names:
        return ()
    occurring = set().union(*(part.leave_out(names) for part in parts))
    return tuple(f"{name!r}, which counts as missing, does not occur" for name in names if name not in occurring)


def complete_rows(n: int, task: Mask | None, worker: Mask | None, answer: Mask | None) -> tuple[dict[str, int], Mask]:
    """Return how many of n rows lack a task, worker or answer, by the first reason, and which rows lack none.

    The masks mark missing values (None: there are none).
    """
    keep = np.ones(n, dtype=bool)
    dropped: dict[str, int] = {}
    task, worker, answer = (np.zeros(n, dtype=bool) if mask is None else mask for mask in (task, worker, answer))
    for reason, mask in (
        (reasons.BLANK, task & worker & answer),
        (reasons.NULL_TASK, task),
        (reasons.NULL_WORKER, worker),
        (reasons.NULL_LABEL, answer),
    ):
        dropped[reason] = int((keep & mask).sum())
        keep &= ~mask
    return dropped, keep


def _unanswered_rows(parts: Mapping[str, Column], coder: Coder) -> tuple[Codes, npt.NDArray[np.bool_]] | None:
    """Return the workers of all rows, and which rows have a task and a worker but no answer; None if no row does."""
    if coder.null is None or not coder.null.any():
        return None
    null = coder.null.copy()
    for part in parts.values():
        if part.null is not None:
            null &= ~part.null
    return parts["worker"].codes, null


def _numbers(values: Any, name: str, n_rows: int) -> F8 | None:
    if values is None:
        return None
    try:
        out = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must hold numbers") from None
    if out.shape != (n_rows,):
        raise DataError(f"{name} has shape {out.shape} but there are {n_rows} rows")
    if name == "weight" and not (np.isfinite(out).all() and (out >= 0).all()):
        row = int(np.flatnonzero(~(np.isfinite(out) & (out >= 0)))[0])
        raise DataError(f"weight of row {row + 1} is {out[row]}; weights must be finite and not negative")
    return out


def _owned(values: F8 | None, source: Any) -> F8 | None:
    """Return numbers that do not share memory with the user's array."""
    return values if values is None or (values is not source and values.flags.owndata) else values.copy()
