"""Encode one column of the user's values as codes into a sorted vocabulary."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ..arrays import Mask
from ..errors import DataError
from ..vocabulary import Codes, as_series, lookup, quote

# ----------------------------------------------------------------
# Dense codes for a column of text: hash every value, sort the hashes with their rows, and read off the groups.
# Sorting 64-bit integers takes a fraction of the time of a hash table of strings (polars' Categories intern every value
# under a lock). A group shares the upper bits of a hash; every row is compared with the first value of its group, and
# rows that differ get groups of their own, so that hash collisions do not affect the result.

# Rows that are compared at a time: a trade-off between speed and memory.
_BATCH = 1 << 20


def code_text(texts: pl.Series) -> tuple[Codes, pl.Series]:
    """Return the code of every value (a null counts as a value), and the distinct values in ascending order.

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
    """Return the upper bits of the hashes in ascending order, and the row of each."""
    shift = np.uint64(len(texts).bit_length())
    below = (np.uint64(1) << shift) - np.uint64(1)
    key = texts.hash().to_numpy() & ~below
    key |= np.arange(len(texts), dtype=np.uint64)
    key.sort()
    row = (key & below).view(np.int64)
    key >>= shift
    return key, row


def _part_collisions(texts: pl.Series, codes: Codes, distinct: pl.Series) -> pl.Series:
    """Give values whose hash collides with another value's a code of their own; return all distinct values."""
    collisions = [
        lo + texts[lo : lo + _BATCH].ne_missing(distinct.gather(codes[lo : lo + _BATCH])).arg_true().to_numpy()
        for lo in range(0, len(texts), _BATCH)
    ]
    rows = np.concatenate(collisions)
    if not len(rows):
        return distinct
    values = texts.gather(rows)
    added = values.unique()
    codes[rows] = len(distinct) + lookup(added, values)[0]
    return pl.concat([distinct, added])


def _rank(ordered: pl.Series, values: pl.Series) -> Codes:
    """Return the position of each value in `ordered`, which holds the same values, by sorting both by hash."""
    rank = np.empty(len(values), dtype=np.int32)
    rank[_hash_order(values)[1]] = _hash_order(ordered)[1]
    mismatched = ordered.gather(rank).ne_missing(values).arg_true()
    if len(mismatched):
        rank[mismatched.to_numpy()] = ordered.search_sorted(values.gather(mismatched)).to_numpy()
    return rank


UnknownClasses = Literal["error", "drop"]
UNKNOWN_CLASS = "class not in the given classes"
Respell = Callable[[pl.Series], tuple[pl.Series, str | None]]
# Replaces lone surrogates (half characters), which UTF-8 cannot encode.
HALF = "\ufffd"


class Column:
    """An encoded column; `null` marks rows without a value (None: every row has one)."""

    def __init__(self, name: str, codes: Codes, vocabulary: pl.Series, null: Mask | None) -> None:
        self.name, self.codes, self.vocabulary, self.null = name, codes, vocabulary, null

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, values: Any, name: str) -> Column:
        """Encode a column of text, integers or booleans."""
        series = as_series(values, name)
        if series.dtype in (pl.Boolean, pl.Null):
            series = series.cast(pl.String)  # true / false, as files write them
        return _integers(series, name) if series.dtype == pl.Int64 else _texts(series, name)

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Treat these values as missing; return those that occurred."""
        texts = self.vocabulary.cast(pl.String).str.strip_chars()
        is_missing = texts.is_in(names)
        if not bool(is_missing.any()):
            return set()
        missing = is_missing.to_numpy()
        self.null = missing[self.codes] if self.null is None else self.null | missing[self.codes]
        table = np.maximum(np.cumsum(~missing, dtype=np.int32) - np.int32(1), 0)
        self.codes, self.vocabulary = table[self.codes], self.vocabulary.filter(~is_missing)
        return set(texts.filter(is_missing).to_list())

    def respelt(self, respell: Respell) -> tuple[str, ...]:
        """Respell text values; values that become equal are merged. Returns notes."""
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
        """Translate the codes to a given vocabulary; return the rows whose value is in it."""
        table, is_known = lookup(vocabulary, self.vocabulary)
        unknown = self.vocabulary.filter(~pl.Series(is_known))
        if len(unknown) and policy == "error":
            what = {"task": "tasks", "worker": "workers", "label": "classes"}[self.name]
            raise DataError(
                f"{len(unknown)} values of {self.name} are not among the given {what}: {quote(unknown)}; "
                + ("add them or drop their rows with unknown_classes='drop'" if what == "classes" else "add them")
            )
        self.vocabulary = vocabulary
        if not len(table):
            return np.ones(len(self.codes), dtype=bool)
        is_valid = is_known[self.codes] if self.null is None else is_known[self.codes] | self.null
        if len(unknown):
            dropped[UNKNOWN_CLASS] = int((keep & ~is_valid).sum())
        self.codes = table[self.codes]
        return is_valid

    def lost(self) -> tuple[str, ...]:
        """Return a note on values with a replacement character, if there are any."""
        return lost_note(self.name, damaged(self.vocabulary))


def damaged(names: pl.Series) -> pl.Series:
    """Return the names with a replacement character: names that differed there have become one."""
    return names.filter(names.str.contains(HALF, literal=True)) if names.dtype == pl.String else names.clear()


def lost_note(role: str, names: pl.Series) -> tuple[str, ...]:
    """Return a note on such names, if there are any."""
    if not len(names):
        return ()
    return (f"{len(names):,} values of {role} hold {HALF} for a character that is lost: {quote(names)}",)


def _texts(series: pl.Series, name: str) -> Column:
    codes, texts = code_text(series.cast(pl.String))
    if bool(texts.str.contains("\0", literal=True).any()):
        bad = texts.filter(texts.str.contains("\0", literal=True))[0]
        raise DataError(f"column {name!r} holds a NUL byte in {quote([bad])}; the file is binary or damaged")
    full = (texts.str.strip_chars().str.len_bytes() > 0).fill_null(False)
    if bool(full.all()):
        return Column(name, codes, texts.rename(name), None)
    is_filled = full.to_numpy()
    table = np.cumsum(is_filled, dtype=np.int32) - np.int32(1)
    return _finish(name, table[codes], texts.filter(full).rename(name), ~is_filled[codes])


def _integers(series: pl.Series, name: str) -> Column:
    null = series.is_null().to_numpy()
    vocabulary, codes_present = _distinct(series.drop_nulls().to_numpy())
    codes = codes_present
    if len(codes_present) < len(series):
        codes = np.zeros(len(series), dtype=np.int32)
        codes[~null] = codes_present
    return _finish(name, codes, pl.Series(name, vocabulary, dtype=pl.Int64), null)


def _distinct(values: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Codes]:
    """np.unique with codes; dense ids, as most are, need a lookup table instead of a sort."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low >= 4 * len(values):
        vocabulary, codes = np.unique(values, return_inverse=True)
        return vocabulary, codes.astype(np.int32)
    offset = values if low == 0 else values - low
    occurs = np.zeros(high - low + 1, dtype=bool)
    occurs[offset] = True
    table = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(occurs) + low, table[offset]


def _finish(name: str, codes: Codes, vocabulary: pl.Series, null: Mask) -> Column:
    if not null.any():
        return Column(name, codes, vocabulary, None)
    return Column(name, np.where(null, 0, codes).astype(np.int32), vocabulary, null)


# ----------------------------------------------------------------
# Labels that look like a missing value: they may be a class, so they are kept and a note is shown.

# How R, pandas, Excel, databases and people write a missing value; each may also be the name of a class.
WORDS = ("na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nil", "missing", "-", "--", "–", "—", ".", "?",
         "n.a.", "k.a.", "k. a.", "k.a", "keine angabe", "keine antwort", "weiß nicht", "weiss nicht", "don't know",
         "no answer")  # fmt: skip
# Beside numbers, so many different short texts are asked about.
FEW_TEXTS, SHORT = 3, 30


def reads_like_missing(values: pl.Series) -> pl.Series:
    """Return which of these texts look like a missing value."""
    return values.str.strip_chars().str.to_lowercase().is_in(WORDS).fill_null(False)


def missing_value_notes(classes: pl.Series, counts: npt.NDArray[Any]) -> tuple[str, ...]:
    """Return a note for every class that looks like a missing value; `counts` are the labels of the classes."""
    if classes.dtype != pl.String or not bool((is_suspect := reads_like_missing(classes)).any()):
        return ()
    suspects = [(classes[code], int(counts[code])) for code in is_suspect.arg_true().to_list() if counts[code]]
    return tuple(f"class {name!r} ({n:,} label{'s' * (n > 1)}) {missing_value_hint(name)}" for name, n in suspects)


def refuse_texts_among_numbers(values: pl.Series, counts: npt.NDArray[Any]) -> None:
    """Ask about the few short texts among values that are numbers otherwise: a missing value, or a class?

    Args:
        values: The distinct labels.
        counts: How often each occurs.
    """
    if values.dtype != pl.String:
        return
    is_number = values.str.strip_chars().cast(pl.Float64, strict=False).is_finite().fill_null(False)
    texts, n_numbers = values.filter(~is_number), int(is_number.sum())
    if not 1 <= len(texts) <= FEW_TEXTS or n_numbers < 2 or bool((texts.str.len_chars() > SHORT).any()):
        return
    in_numbers = int(counts[is_number.to_numpy()].sum())
    if 2 * in_numbers < counts.sum() or (n_numbers < 3 and not bool(reads_like_missing(texts).all())):
        return
    shown = " and ".join(f"{text!r} ({int(n):,})" for text, n in zip(texts, counts[~is_number.to_numpy()], strict=True))
    flags = " ".join(f"--missing {shlex.quote(text.strip())}" for text in texts)
    raise DataError(
        f"the labels are numbers, but for {shown}: are these missing values? {flags} leaves them out, --kind classes "
        f"keeps each as a class (in Python missing={texts.to_list()!r} or kind='classes')"
    )


def missing_value_hint(name: str) -> str:
    """Return the note about such a name."""
    return (
        f"reads like a missing value; it counts as a class unless you use --missing {name.strip()} "
        f"(in Python missing=[{name!r}])"
    )
