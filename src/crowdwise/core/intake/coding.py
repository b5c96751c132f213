"""From columns of the user's values to integer codes: nulls, repeats and unknown classes, all accounted for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ...io.json.text import HALF
from ...maths.order import order_by
from .. import ledger as reasons
from ..errors import DataError, ParameterError
from ..ledger import Ledger
from ..vocabulary import Codes, as_series, lookup, quote, sorted_vocabulary
from .missing import questions
from .textcodes import code_text

Duplicates = Literal["error", "first", "last", "keep"]
UnknownClasses = Literal["error", "drop"]
UNKNOWN_CLASS = "class not in the given classes"
# What a row may carry besides task, worker and label; NaN where a row has none (a weight it always has).
NUMBERS = ("weight", "time", "duration", "confidence")
Respell = Callable[[pl.Series], tuple[pl.Series, str | None]]


@dataclass(frozen=True)
class Coded:
    """Everything an Annotations is made of, rows sorted by task and worker."""

    task: Codes
    worker: Codes
    label: Codes
    tasks: pl.Series
    workers: pl.Series
    classes: pl.Series
    weight: npt.NDArray[np.float64] | None
    time: npt.NDArray[np.float64] | None
    duration: npt.NDArray[np.float64] | None
    confidence: npt.NDArray[np.float64] | None
    ledger: Ledger


def encode(
    columns: dict[str, Any],
    *,
    duplicates: Duplicates = "error",
    unknown_classes: UnknownClasses = "error",
    tasks: Any = None,
    workers: Any = None,
    classes: Any = None,
    notes: tuple[str, ...] = (),
    missing: Sequence[Any] = (),
    respell: Respell | None = None,
) -> Coded:
    """Codes for the columns task, worker, label (and NUMBERS), sorted, with a ledger of every row.

    Values in `missing` stand for nothing, as an empty cell does. `respell` gives the distinct labels another spelling.
    """
    if duplicates not in ("error", "first", "last", "keep"):
        raise ParameterError(f"duplicates must be error, first, last or keep, got {duplicates!r}")
    if unknown_classes not in ("error", "drop"):
        raise ParameterError(f"unknown_classes must be error or drop, got {unknown_classes!r}")
    # Taken out of the mapping: a column of text is let go as soon as it is coded.
    parts = {name: _code(columns.pop(name), name) for name in ("task", "worker", "label")}
    n_rows = len(parts["task"].codes)
    for name, part in parts.items():
        if len(part.codes) != n_rows:
            raise DataError(f"task has {n_rows} rows but {name} has {len(part.codes)}; columns must be equally long")
    users = {name: columns.get(name) for name in NUMBERS}
    extra = {name: _numbers(values, name, n_rows) for name, values in users.items()}
    notes += _leave_out(parts, missing)
    if respell is not None:
        notes += parts["label"].respelt(respell)
    dropped, keep = _null_rows(parts)
    for name, given in (("task", tasks), ("worker", workers), ("label", classes)):
        if given is not None:
            keep &= parts[name].recode(sorted_vocabulary(given, name), keep, dropped, unknown_classes)
    if not keep.all():
        rows = np.flatnonzero(keep)
        for part in parts.values():
            part.codes = part.codes[rows]
        extra = {name: None if v is None else v[rows] for name, v in extra.items()}
    repeats = _sort_and_resolve(parts, extra, duplicates)
    dropped |= repeats
    used = len(parts["task"].codes)
    notes += questions(parts["label"].vocabulary, parts["label"].codes)
    extra = {name: _own(values, users[name]) for name, values in extra.items()}
    return Coded(
        **{name: np.ascontiguousarray(part.codes, dtype=np.int32) for name, part in parts.items()},
        tasks=parts["task"].vocabulary,
        workers=parts["worker"].vocabulary,
        classes=parts["label"].vocabulary,
        weight=extra["weight"],
        time=extra["time"],
        duration=extra["duration"],
        confidence=extra["confidence"],
        ledger=Ledger(rows_in=n_rows, rows_used=used, dropped=dropped, notes=notes + _lost(parts)),
    )


class _Part:
    """One column on its way to codes; `null` marks rows without a value (None: every row has one)."""

    def __init__(self, name: str, codes: Codes, vocabulary: pl.Series, null: npt.NDArray[np.bool_] | None) -> None:
        self.name, self.codes, self.vocabulary, self.null = name, codes, vocabulary, null

    def leave_out(self, gone: npt.NDArray[np.bool_]) -> None:
        """Take these values of the vocabulary for no value at all."""
        null = gone[self.codes] if self.null is None else self.null | gone[self.codes]
        table = np.maximum(np.cumsum(~gone, dtype=np.int32) - np.int32(1), 0)
        self.codes, self.null = table[self.codes], null
        self.vocabulary = self.vocabulary.filter(~pl.Series(gone))

    def respelt(self, respell: Respell) -> tuple[str, ...]:
        """Give text another spelling; what is then spelt alike is one value."""
        if self.vocabulary.dtype != pl.String:
            return ()
        names, note = respell(self.vocabulary)
        if note is None:
            return ()
        vocabulary = names.unique().sort()
        self.codes = lookup(vocabulary, names)[0][self.codes]
        self.vocabulary = vocabulary.rename(self.name)
        return (note,)

    def recode(
        self,
        vocabulary: pl.Series,
        keep: npt.NDArray[np.bool_],
        dropped: dict[str, int],
        policy: UnknownClasses,
    ) -> npt.NDArray[np.bool_]:
        """Move to a given vocabulary; returns the rows whose value is in it."""
        table, known = lookup(vocabulary, self.vocabulary)
        strangers = self.vocabulary.filter(~pl.Series(known))
        if len(strangers) and (self.name != "label" or policy == "error"):
            what = {"task": "tasks", "worker": "workers", "label": "classes"}[self.name]
            raise DataError(
                f"{len(strangers)} values of {self.name} are not among the given {what}: {quote(strangers)}; "
                + ("add them or drop their rows with unknown_classes='drop'" if what == "classes" else "add them")
            )
        self.vocabulary = vocabulary
        if not len(table):
            return np.ones(len(self.codes), dtype=bool)
        ok = known[self.codes] if self.null is None else known[self.codes] | self.null
        if len(strangers):
            dropped[UNKNOWN_CLASS] = int((keep & ~ok).sum())
        self.codes = table[self.codes]
        return ok


def _code(values: Any, name: str) -> _Part:
    series = as_series(values, name)
    if series.dtype == pl.Boolean:
        series = series.cast(pl.String)  # true / false, as files write them
    if series.dtype == pl.Null:
        series = series.cast(pl.String)
    if series.dtype == pl.Int64:
        return _code_integers(series, name)
    codes, texts = code_text(series.cast(pl.String))
    if bool(texts.str.contains("\0", literal=True).any()):
        bad = texts.filter(texts.str.contains("\0", literal=True))[0]
        raise DataError(f"column {name!r} holds a NUL byte in {quote([bad])}; the file is binary or damaged")
    full = (texts.str.strip_chars().str.len_bytes() > 0).fill_null(False)
    if bool(full.all()):
        return _Part(name, codes, texts.rename(name), None)
    kept = full.to_numpy()
    table = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    return _finish(name, table[codes], texts.filter(full).rename(name), ~kept[codes])


def _code_integers(series: pl.Series, name: str) -> _Part:
    null = series.is_null().to_numpy()
    vocabulary, found = _distinct(series.drop_nulls().to_numpy())
    codes = found
    if len(found) < len(series):
        codes = np.zeros(len(series), dtype=np.int32)
        codes[~null] = found
    return _finish(name, codes, pl.Series(name, vocabulary, dtype=pl.Int64), null)


def _distinct(values: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Codes]:
    """np.unique with codes; ids that lie close together, as most do, need a table instead of a sort."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low >= 4 * len(values):
        vocabulary, codes = np.unique(values, return_inverse=True)
        return vocabulary, codes.astype(np.int32)
    place = values if low == 0 else values - low
    seen = np.zeros(high - low + 1, dtype=bool)
    seen[place] = True
    table = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(seen) + low, table[place]


def _finish(name: str, codes: Codes, vocabulary: pl.Series, null: npt.NDArray[np.bool_]) -> _Part:
    if not null.any():
        return _Part(name, codes, vocabulary, None)
    return _Part(name, np.where(null, 0, codes).astype(np.int32), vocabulary, null)


def _leave_out(parts: Mapping[str, _Part], missing: Sequence[Any]) -> tuple[str, ...]:
    """Values that stand for nothing; a note for each that occurs nowhere, which may be a slip of the pen."""
    names = [str(value).strip() for value in missing]
    seen: set[str] = set()
    for part in parts.values() if names else ():
        texts = part.vocabulary.cast(pl.String).str.strip_chars()
        gone = texts.is_in(names)
        if bool(gone.any()):
            seen |= set(texts.filter(gone).to_list())
            part.leave_out(gone.to_numpy())
    return tuple(f"{name!r}, which is to count as missing, occurs nowhere" for name in names if name not in seen)


def _lost(parts: Mapping[str, _Part]) -> tuple[str, ...]:
    """A note for names with a replacement character in them: two that differed there have become one."""
    notes: tuple[str, ...] = ()
    for name, part in parts.items():
        if part.vocabulary.dtype == pl.String:
            hit = part.vocabulary.filter(part.vocabulary.str.contains(HALF, literal=True))
            if len(hit):
                notes += (f"{len(hit):,} values of {name} hold {HALF} for a character that is lost: {quote(hit)}",)
    return notes


def _null_rows(parts: Mapping[str, _Part]) -> tuple[dict[str, int], npt.NDArray[np.bool_]]:
    """Rows without task, worker or label, each counted under its first reason."""
    n = len(parts["task"].codes)
    keep = np.ones(n, dtype=bool)
    dropped: dict[str, int] = {}
    empty = np.zeros(n, dtype=bool)
    null = {name: empty if part.null is None else part.null for name, part in parts.items()}
    blank = null["task"] & null["worker"] & null["label"]
    for reason, mask in (
        (reasons.BLANK, blank),
        (reasons.NULL_TASK, null["task"]),
        (reasons.NULL_WORKER, null["worker"]),
        (reasons.NULL_LABEL, null["label"]),
    ):
        dropped[reason] = int((keep & mask).sum())
        keep &= ~mask
    return dropped, keep


def _numbers(values: Any, name: str, n_rows: int) -> npt.NDArray[np.float64] | None:
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


def _own(values: npt.NDArray[np.float64] | None, given: Any) -> npt.NDArray[np.float64] | None:
    """The numbers in memory of their own: what the user does to their array later changes nothing here."""
    return values if values is None or (values is not given and values.flags.owndata) else values.copy()


def _sort_and_resolve(
    parts: Mapping[str, _Part], extra: dict[str, npt.NDArray[np.float64] | None], policy: Duplicates
) -> dict[str, int]:
    """Sort the rows by task and worker (in file order within a pair) and apply the policy for repeats."""
    task, worker = parts["task"].codes, parts["worker"].codes
    _take(parts, extra, order_by(task, len(parts["task"].vocabulary), worker, len(parts["worker"].vocabulary)))
    task, worker, label = (parts[name].codes for name in ("task", "worker", "label"))
    again = (np.diff(task) == 0) & (np.diff(worker) == 0)
    if not again.any():
        return {}
    group = np.concatenate([[0], np.cumsum(~again)])
    position = np.arange(len(task))
    if policy == "keep":
        _take(parts, extra, np.lexsort((*_ties(extra), label, group)))
        return {}
    if policy == "error":
        order = np.lexsort((position, label, group))
        clash = again & (np.diff(label[order]) != 0)
        if clash.any():
            raise _contradiction(parts, group, clash)
        kept = order[np.concatenate([[True], ~(again & ~clash)])]
        _take(parts, extra, np.sort(kept))
        return {reasons.EXACT_REPEAT: int(len(task) - len(kept))}
    time = extra["time"]
    rank = position if time is None else np.nan_to_num(time, nan=-np.inf)
    order = np.lexsort((position, rank, group))
    edge = np.concatenate([[True], ~again]) if policy == "first" else np.concatenate([~again, [True]])
    kept = order[edge]
    exact = int((label == label[kept][group]).sum()) - len(kept)
    _take(parts, extra, kept)
    return {reasons.EXACT_REPEAT: exact, reasons.CONTRADICTION: len(task) - len(kept) - exact}


def _ties(extra: Mapping[str, npt.NDArray[np.float64] | None]) -> list[npt.NDArray[Any]]:
    return [values for values in extra.values() if values is not None]


def _take(
    parts: Mapping[str, _Part],
    extra: dict[str, npt.NDArray[np.float64] | None],
    order: npt.NDArray[np.int64] | None,
) -> None:
    if order is None:
        return
    for part in parts.values():
        part.codes = part.codes[order]
    for name, values in extra.items():
        extra[name] = None if values is None else values[order]


def _contradiction(parts: Mapping[str, _Part], group: npt.NDArray[np.int64], clash: npt.NDArray[np.bool_]) -> DataError:
    pairs = np.unique(group[1:][clash])
    rows = np.flatnonzero(group == pairs[0])
    said = parts["label"].vocabulary.gather(np.unique(parts["label"].codes[rows]))
    task = parts["task"].vocabulary[int(parts["task"].codes[rows[0]])]
    worker = parts["worker"].vocabulary[int(parts["worker"].codes[rows[0]])]
    return DataError(
        f"{len(pairs)} (task, worker) {'pair carries' if len(pairs) == 1 else 'pairs carry'} contradictory labels "
        f"(first: task {quote([task])}, worker {quote([worker])}: {quote(said)}); choose --duplicates first, "
        "last or keep (in Python: duplicates='first', 'last' or 'keep')"
    )
