"""One column of the user's values as codes into a sorted vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import DataError
from ..vocabulary import Codes, as_series, lookup, quote
from .textcodes import code_text

Mask = npt.NDArray[np.bool_]
UnknownClasses = Literal["error", "drop"]
UNKNOWN_CLASS = "class not in the given classes"
Respell = Callable[[pl.Series], tuple[pl.Series, str | None]]
# What stands in the place of half a character, which no text can hold.
HALF = "\ufffd"


class Column:
    """Codes on their way; `null` marks rows without a value (None: every row has one)."""

    def __init__(self, name: str, codes: Codes, vocabulary: pl.Series, null: Mask | None) -> None:
        self.name, self.codes, self.vocabulary, self.null = name, codes, vocabulary, null

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, values: Any, name: str) -> Column:
        """Any column: text, whole numbers, yes and no."""
        series = as_series(values, name)
        if series.dtype in (pl.Boolean, pl.Null):
            series = series.cast(pl.String)  # true / false, as files write them
        return _integers(series, name) if series.dtype == pl.Int64 else _texts(series, name)

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these values for no value at all; returns those that occurred."""
        texts = self.vocabulary.cast(pl.String).str.strip_chars()
        hit = texts.is_in(names)
        if not bool(hit.any()):
            return set()
        gone = hit.to_numpy()
        self.null = gone[self.codes] if self.null is None else self.null | gone[self.codes]
        table = np.maximum(np.cumsum(~gone, dtype=np.int32) - np.int32(1), 0)
        self.codes, self.vocabulary = table[self.codes], self.vocabulary.filter(~hit)
        return set(texts.filter(hit).to_list())

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
        self, vocabulary: pl.Series, keep: Mask, dropped: dict[str, int], policy: UnknownClasses = "error"
    ) -> Mask:
        """Move to a given vocabulary; returns the rows whose value is in it."""
        table, known = lookup(vocabulary, self.vocabulary)
        strangers = self.vocabulary.filter(~pl.Series(known))
        if len(strangers) and policy == "error":
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

    def lost(self) -> tuple[str, ...]:
        """A note on names with a replacement character in them: two that differed there have become one."""
        if self.vocabulary.dtype != pl.String:
            return ()
        hit = self.vocabulary.filter(self.vocabulary.str.contains(HALF, literal=True))
        return (
            (f"{len(hit):,} values of {self.name} hold {HALF} for a character that is lost: {quote(hit)}",)
            if len(hit)
            else ()
        )


def _texts(series: pl.Series, name: str) -> Column:
    codes, texts = code_text(series.cast(pl.String))
    if bool(texts.str.contains("\0", literal=True).any()):
        bad = texts.filter(texts.str.contains("\0", literal=True))[0]
        raise DataError(f"column {name!r} holds a NUL byte in {quote([bad])}; the file is binary or damaged")
    full = (texts.str.strip_chars().str.len_bytes() > 0).fill_null(False)
    if bool(full.all()):
        return Column(name, codes, texts.rename(name), None)
    kept = full.to_numpy()
    table = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    return _finish(name, table[codes], texts.filter(full).rename(name), ~kept[codes])


def _integers(series: pl.Series, name: str) -> Column:
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


def _finish(name: str, codes: Codes, vocabulary: pl.Series, null: Mask) -> Column:
    if not null.any():
        return Column(name, codes, vocabulary, None)
    return Column(name, np.where(null, 0, codes).astype(np.int32), vocabulary, null)
