"""One column of the user's values as codes into a sorted vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import DataError
from ..vocabulary import Codes, as_series, lookup, quote

# ----------------------------------------------------------------
# Dense codes for a column of text: hash every value, sort the hashes with their rows, read the groups off.
# Sorting 64-bit integers takes a fraction of the time that a table of strings does (polars' Categories intern every
# value under a lock). A group is what shares the upper bits of a hash; every row is then compared with its group's
# first value, and the few rows that differ get groups of their own, so that the answer never hangs on the hash.

# Rows that are compared at a time: enough to be quick, few enough to need little memory.
_BATCH = 1 << 20


def code_text(texts: pl.Series) -> tuple[Codes, pl.Series]:
    """Code of every value (a null counts as a value), and the distinct values in ascending order.

    >>> codes, distinct = code_text(pl.Series(["b", "a", "b"]))
    >>> codes.tolist(), distinct.to_list()
    ([1, 0, 1], ['a', 'b'])
    """
    if not len(texts):
        return np.empty(0, dtype=np.int32), texts
    key, row = _hash_order(texts)
    new = np.ones(len(key), dtype=bool)
    np.not_equal(key[1:], key[:-1], out=new[1:])
    del key
    distinct = texts.gather(row[new])
    codes = np.empty(len(texts), dtype=np.int32)
    codes[row] = np.cumsum(new, dtype=np.int32) - 1
    del row, new
    distinct = _part_collisions(texts, codes, distinct)
    ordered = distinct.sort()
    return _rank(ordered, distinct)[codes], ordered


def _hash_order(texts: pl.Series) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """The upper bits of the hashes in ascending order, and the row that each belongs to."""
    shift = np.uint64(len(texts).bit_length())
    below = (np.uint64(1) << shift) - np.uint64(1)
    key = texts.hash().to_numpy() & ~below
    key |= np.arange(len(texts), dtype=np.uint64)
    key.sort()
    row = (key & below).view(np.int64)
    key >>= shift
    return key, row


def _part_collisions(texts: pl.Series, codes: Codes, distinct: pl.Series) -> pl.Series:
    """Give values that share another value's group a code of their own; returns the distinct values with them."""
    strays = [
        lo + texts[lo : lo + _BATCH].ne_missing(distinct.gather(codes[lo : lo + _BATCH])).arg_true().to_numpy()
        for lo in range(0, len(texts), _BATCH)
    ]
    rows = np.concatenate(strays)
    if not len(rows):
        return distinct
    values = texts.gather(rows)
    more = values.unique()
    codes[rows] = len(distinct) + lookup(more, values)[0]
    return pl.concat([distinct, more])


def _rank(ordered: pl.Series, values: pl.Series) -> Codes:
    """Where each value stands in `ordered`, which holds the same values: both are brought into the hash's order."""
    rank = np.empty(len(values), dtype=np.int32)
    rank[_hash_order(values)[1]] = _hash_order(ordered)[1]
    astray = ordered.gather(rank).ne_missing(values).arg_true()
    if len(astray):
        rank[astray.to_numpy()] = ordered.search_sorted(values.gather(astray)).to_numpy()
    return rank


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


# ----------------------------------------------------------------
# Labels that read like a missing value: they may be a class, so nothing is dropped, but somebody is asked.

# What R, pandas, Excel, databases and people write where there is nothing; each may also be the name of a class.
WORDS = ("na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nil", "missing", "-", "--", "–", "—", ".", "?")


def reads_like_missing(values: pl.Series) -> pl.Series:
    """Which of these texts do."""
    return values.str.strip_chars().str.to_lowercase().is_in(WORDS).fill_null(False)


def questions(classes: pl.Series, codes: Codes) -> tuple[str, ...]:
    """A note that asks for every class that reads like a missing value, with the number of its labels."""
    return questions_by_number(classes, np.bincount(codes, minlength=len(classes)))


def questions_by_number(classes: pl.Series, times: npt.NDArray[Any]) -> tuple[str, ...]:
    """The same where it is counted how often each class was said."""
    if classes.dtype != pl.String or not bool((odd := reads_like_missing(classes)).any()):
        return ()
    found = [(classes[code], int(times[code])) for code in odd.arg_true().to_list() if times[code]]
    return tuple(f"class {name!r} ({n:,} label{'s' * (n > 1)}) {asking(name)}" for name, n in found)


def asking(name: str) -> str:
    """What to say of such a name."""
    return (
        f"reads like a missing value; it counts as a class unless you say --missing {name.strip()} "
        f"(in Python missing=[{name!r}])"
    )
