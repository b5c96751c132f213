"""From columns of the user's values to integer codes: nulls, repeats and unknown values, all accounted for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...maths.order import order_by
from .. import ledger as reasons
from ..answers import Answers, Coder
from ..errors import DataError, ParameterError
from ..ledger import Ledger
from ..vocabulary import Codes, sorted_vocabulary
from .column import Column
from .occasions import by_version, occasions, one_voice, unusable
from .repeats import Duplicates, resolve, told

F8 = npt.NDArray[np.float64]
# What a row may carry besides task, worker and answer; NaN where a row has none (a weight it always has).
NUMBERS = ("weight", "time", "duration", "confidence")
# Takes the columns of its kind out of the mapping, so that they are let go as soon as they are coded.
MakeCoder = Callable[[dict[str, Any]], Coder]


@dataclass(frozen=True)
class Coded:
    """Everything that votes are made of, rows sorted by task and worker."""

    task: Codes
    worker: Codes
    answers: Answers
    tasks: pl.Series
    workers: pl.Series
    weight: F8 | None
    time: F8 | None
    duration: F8 | None
    confidence: F8 | None
    ledger: Ledger
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
) -> Coded:
    """Codes for the columns task, worker, those of the answer, and NUMBERS; sorted, with a ledger of every row.

    The column `about_rows` is a table of what else is known of the rows (see occasions.py).

    Values in `missing` stand for nothing, as an empty cell does.
    """
    if duplicates not in ("error", "first", "last", "keep"):
        raise ParameterError(f"duplicates must be error, first, last or keep, got {duplicates!r}")
    # Taken out of the mapping: a column of text is let go as soon as it is coded.
    about: pl.DataFrame | None = columns.pop("about_rows", None)
    if about is not None and "version" in about.columns:
        columns["worker"], told_of = by_version(columns["worker"], about["version"])
        notes += told_of
    parts = {name: Column.of(columns.pop(name), name) for name in ("task", "worker")}
    occasion, n_occasions = occasions(about)
    coder = make_coder(columns)
    n_rows = len(parts["task"])
    for name, size in (("worker", len(parts["worker"])), ("label", len(coder))):
        if size != n_rows:
            raise DataError(f"task has {n_rows} rows but {name} has {size}; columns must be equally long")
    users = {name: columns.get(name) for name in NUMBERS}
    numbers = {name: _numbers(values, name, n_rows) for name, values in users.items()}
    notes += _leave_out([*parts.values(), coder], missing)
    dropped, keep = _null_rows(parts, coder)
    for name, given in (("task", tasks), ("worker", workers)):
        if given is not None:
            keep &= parts[name].recode(sorted_vocabulary(given, name), keep, dropped)
    admitted = coder.admit(keep, dropped)
    if admitted is not None:
        keep &= admitted
    task, worker, answers = parts["task"].codes, parts["worker"].codes, coder.finish()
    silent = _silent(parts, coder)

    def take(order: npt.NDArray[np.int64] | None) -> None:
        nonlocal task, worker, answers, about, occasion
        if order is not None:
            task, worker, answers = task[order], worker[order], answers.take(order)
            about = None if about is None else about[order]
            occasion = None if occasion is None else occasion[order]
            for name, values in numbers.items():
                numbers[name] = None if values is None else values[order]

    def tell(rows: npt.NDArray[np.int64]) -> str:
        row = int(rows[0])
        who = parts["task"].vocabulary[int(task[row])], parts["worker"].vocabulary[int(worker[row])]
        return told(*who, answers.words(rows))

    take(None if keep.all() else np.flatnonzero(keep))
    minor = worker if occasion is None else worker * np.int64(n_occasions) + occasion
    take(order_by(task, len(parts["task"].vocabulary), minor, len(parts["worker"].vocabulary) * n_occasions))
    kept, repeats = resolve(task, worker, answers.keys(), numbers, duplicates, tell, occasion)
    take(kept)
    if occasion is not None and numbers["weight"] is None:
        numbers["weight"], told_of = one_voice(task, worker)
        notes += told_of
    notes += coder.notes(answers) + tuple(note for part in parts.values() for note in part.lost())
    return Coded(
        task=np.ascontiguousarray(task, dtype=np.int32),
        worker=np.ascontiguousarray(worker, dtype=np.int32),
        answers=answers,
        tasks=parts["task"].vocabulary,
        workers=parts["worker"].vocabulary,
        **{name: _own(values, users[name]) for name, values in numbers.items()},
        ledger=Ledger(n_rows, len(task), dropped | repeats, notes),
        about_rows=about,
        about_workers=None if silent is None else unusable(*silent, parts["worker"].vocabulary),
    )


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
