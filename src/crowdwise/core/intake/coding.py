"""From columns of the user's values to integer codes: nulls, repeats and unknown values, all accounted for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from .. import ledger as reasons
from ..answers import Answers, Coder
from ..errors import DataError, ParameterError
from ..ledger import Ledger
from ..order import order_by
from ..vocabulary import Codes, sorted_vocabulary
from .column import Column
from .repeats import Duplicates, by_version, occasions, one_voice, resolve, told, unusable

A = TypeVar("A", bound=Answers)
F8 = npt.NDArray[np.float64]
# What a row may carry besides task, worker and answer; NaN where a row has none (a weight it always has).
NUMBERS = ("weight", "time", "duration", "confidence")
# Takes the columns of its kind out of the mapping, so that they are let go as soon as they are coded.
MakeCoder = Callable[[dict[str, Any]], Coder]


@dataclass(frozen=True, eq=False, repr=False)
class Coded(Generic[A]):
    """What votes are made of: codes into vocabularies, rows sorted by task and worker."""

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
    """Codes for the columns task, worker, those of the answer, and NUMBERS; sorted, with a ledger of every row.

    The column `about_rows` is a table of what else is known of the rows (see occasions.py). Values in `missing` stand
    for nothing, as an empty cell does.
    """
    if duplicates not in ("error", "first", "last", "keep"):
        raise ParameterError(f"duplicates must be error, first, last or keep, got {duplicates!r}")
    # Taken out of the mapping: a column of text is let go as soon as it is coded.
    about: pl.DataFrame | None = columns.pop("about_rows", None)
    if about is not None and "version" in about.columns:
        columns["worker"], told_of = by_version(columns["worker"], about["version"])
        notes += told_of
    parts = {name: Column.of(columns.pop(name), name) for name in ("task", "worker")}
    coder = make_coder(columns)
    n_rows = _length(parts, coder)
    users = {name: columns.get(name) for name in NUMBERS}
    numbers = {name: _numbers(values, name, n_rows) for name, values in users.items()}
    notes += _leave_out([*parts.values(), coder], missing)
    dropped, keep = _kept(parts, coder, {"task": tasks, "worker": workers})
    rows = _Rows(parts, coder.finish(), numbers, about)
    silent = _silent(parts, coder)
    rows.take(None if keep.all() else np.flatnonzero(keep))
    repeats = rows.put_in_order(duplicates)
    notes += (
        rows.as_voices() + coder.notes(rows.answers) + tuple(note for part in parts.values() for note in part.lost())
    )
    return Coded(
        task=np.ascontiguousarray(rows.task, dtype=np.int32),
        worker=np.ascontiguousarray(rows.worker, dtype=np.int32),
        answers=rows.answers,
        tasks=parts["task"].vocabulary,
        workers=parts["worker"].vocabulary,
        **{name: _own(values, users[name]) for name, values in rows.numbers.items()},
        ledger=Ledger(n_rows, len(rows.task), dropped | repeats, notes),
        about_rows=rows.about,
        about_workers=None if silent is None else unusable(*silent, parts["worker"].vocabulary),
    )


class _Rows:
    """Codes, answers and numbers of the rows, which go together."""

    def __init__(
        self, parts: Mapping[str, Column], answers: Answers, numbers: dict[str, F8 | None], about: pl.DataFrame | None
    ) -> None:
        self.parts, self.answers, self.numbers, self.about = parts, answers, numbers, about
        self.occasion, self.n_occasions = occasions(about)
        self.task, self.worker = parts["task"].codes, parts["worker"].codes

    def take(self, order: npt.NDArray[np.int64] | None) -> None:
        """These rows, in this order; None: all as they are."""
        if order is None:
            return
        self.task, self.worker, self.answers = self.task[order], self.worker[order], self.answers.take(order)
        self.about = None if self.about is None else self.about[order]
        self.occasion = None if self.occasion is None else self.occasion[order]
        for name, values in self.numbers.items():
            self.numbers[name] = None if values is None else values[order]

    def put_in_order(self, duplicates: Duplicates) -> dict[str, int]:
        """Sort by task and worker; how many repeats went for which reason."""
        n_tasks, n_workers = (len(self.parts[name].vocabulary) for name in ("task", "worker"))
        minor = self.worker if self.occasion is None else self.worker * np.int64(self.n_occasions) + self.occasion
        self.take(order_by(self.task, n_tasks, minor, n_workers * self.n_occasions))
        keys = self.answers.keys()
        kept, repeats = resolve(self.task, self.worker, keys, self.numbers, duplicates, self._tell, self.occasion)
        self.take(kept)
        return repeats

    def as_voices(self) -> tuple[str, ...]:
        """Let the rows of a worker on a task weigh one together where they are occasions and nobody weighed them."""
        if self.occasion is None or self.numbers["weight"] is not None:
            return ()
        self.numbers["weight"], notes = one_voice(self.task, self.worker)
        return notes

    def _tell(self, rows: npt.NDArray[np.int64]) -> str:
        row = int(rows[0])
        task, worker = self.parts["task"].vocabulary, self.parts["worker"].vocabulary
        return told(task[int(self.task[row])], worker[int(self.worker[row])], self.answers.words(rows))


def _length(parts: Mapping[str, Column], coder: Coder) -> int:
    """The number of rows, the same in every column."""
    n_rows = len(parts["task"])
    for name, size in (("worker", len(parts["worker"])), ("label", len(coder))):
        if size != n_rows:
            raise DataError(f"task has {n_rows} rows but {name} has {size}; columns must be equally long")
    return n_rows


def _kept(
    parts: Mapping[str, Column], coder: Coder, given: Mapping[str, Any]
) -> tuple[dict[str, int], npt.NDArray[np.bool_]]:
    """Which rows stay, and how many went for which reason: nulls, names that are not among those given, answers."""
    dropped, keep = _null_rows(parts, coder)
    for name, names in given.items():
        if names is not None:
            keep &= parts[name].recode(sorted_vocabulary(names, name), keep, dropped)
    admitted = coder.admit(keep, dropped)
    if admitted is not None:
        keep &= admitted
    return dropped, keep


def _leave_out(parts: Sequence[Column | Coder], missing: Sequence[Any]) -> tuple[str, ...]:
    """Values that stand for nothing; a note for each that occurs nowhere, which may be a typing mistake."""
    names = [str(value).strip() for value in missing]
    if not names:
        return ()
    seen = set().union(*(part.leave_out(names) for part in parts))
    return tuple(f"{name!r}, which is to count as missing, occurs nowhere" for name in names if name not in seen)


def _null_rows(parts: Mapping[str, Column], coder: Coder) -> tuple[dict[str, int], npt.NDArray[np.bool_]]:
    """Rows without task, worker or answer, each counted under its first reason."""
    n = len(parts["task"])
    keep = np.ones(n, dtype=bool)
    dropped: dict[str, int] = {}
    empty = np.zeros(n, dtype=bool)
    task, worker, answer = (empty if null is None else null for null in (*(p.null for p in parts.values()), coder.null))
    for reason, mask in (
        (reasons.BLANK, task & worker & answer),
        (reasons.NULL_TASK, task),
        (reasons.NULL_WORKER, worker),
        (reasons.NULL_LABEL, answer),
    ):
        dropped[reason] = int((keep & mask).sum())
        keep &= ~mask
    return dropped, keep


def _silent(parts: Mapping[str, Column], coder: Coder) -> tuple[Codes, npt.NDArray[np.bool_]] | None:
    """Workers of all rows, and which rows name a task and a worker but no answer; None where none does."""
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


def _own(values: F8 | None, given: Any) -> F8 | None:
    """The numbers in memory of their own: what the user does to their array later changes nothing here."""
    return values if values is None or (values is not given and values.flags.owndata) else values.copy()
