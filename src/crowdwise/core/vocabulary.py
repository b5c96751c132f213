"""Vocabularies: the user's ids and classes in ascending order; the position of each is its code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .errors import DataError

Codes = npt.NDArray[np.int32]


def as_series(values: Any, name: str) -> pl.Series:
    """Return any one-dimensional collection as a polars Series of strings, integers or booleans.

    Floats that are whole numbers (as pandas represents integers with missing values) become integers.
    """
    if isinstance(values, pl.Series):
        series = values.rename(name)
    elif isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise DataError(f"{name} must have one dimension, got shape {values.shape}")
        series = _from_numpy(values, name)
    else:
        values = list(values)
        if any(isinstance(v, np.generic) for v in values):
            values = [v.item() if isinstance(v, np.generic) else v for v in values]
        try:
            series = pl.Series(name, values, strict=True)
        except UnicodeEncodeError as error:
            damaged = quote([next(v for v in values if isinstance(v, str) and not _is_whole(v))])
            raise DataError(f"{name} holds {damaged}, which has half a character (a lone surrogate); fix it") from error
        except (TypeError, pl.exceptions.PolarsError) as error:
            kinds = sorted({type(v).__name__ for v in values if v is not None})
            raise DataError(
                f"{name} mixes the types {', '.join(kinds)}; convert them to one type, for instance with str()"
            ) from error
    return _plain(series)


def _is_whole(text: str) -> bool:
    """Whether a text can be encoded: a lone surrogate (half a character) cannot."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def _from_numpy(values: npt.NDArray[Any], name: str) -> pl.Series:
    if values.dtype.kind in "biuf":
        return pl.Series(name, values)
    return as_series(values.tolist(), name)


def _plain(series: pl.Series) -> pl.Series:
    dtype = series.dtype
    if dtype in (pl.String, pl.Boolean, pl.Null) or isinstance(dtype, pl.Categorical | pl.Enum):
        return series
    if dtype.is_integer():
        narrow = series.cast(pl.Int64, strict=False)
        # Numbers beyond 2^63 are ids, not quantities: text keeps every digit.
        return narrow if narrow.null_count() == series.null_count() else series.cast(pl.String)
    if dtype.is_float():
        series = series.fill_nan(None)
        values = series.drop_nulls()
        if bool((values == values.round()).all()) and bool((values.abs() < 2**53).all()):
            return series.cast(pl.Int64)
        return series.cast(pl.String)
    if dtype.is_temporal() or dtype.is_decimal():
        return series.cast(pl.String)
    raise DataError(
        f"column {series.name!r} holds {dtype} values; task, worker and label must be text, numbers or booleans"
    )


def sorted_vocabulary(values: Any, name: str) -> pl.Series:
    """Return the distinct values in ascending order, without nulls."""
    series = as_series(values, name)
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if series.dtype == pl.Null:
        series = series.cast(pl.String)
    return series.drop_nulls().unique().sort()


# A vocabulary this many times as large as the values is filtered before the join.
FEW = 20


def lookup(vocabulary: pl.Series, values: pl.Series) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Return the code of every value, and whether it is in the vocabulary (else its code is meaningless).

    Values of another type than the vocabulary are compared as text: 7 matches "7", not "007".
    """
    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        values = values.cast(pl.String)
    if vocabulary.dtype != values.dtype:
        vocabulary, values = vocabulary.cast(pl.String), values.cast(pl.String)
    table = pl.DataFrame({"value": vocabulary, "code": np.arange(len(vocabulary), dtype=np.int32)})
    if len(vocabulary) > FEW * max(len(values), 1000):
        table = table.filter(vocabulary.is_in(values.unique().implode()))
    joined = pl.DataFrame({"value": values}).join(table, on="value", how="left", maintain_order="left")
    codes = joined["code"]
    return codes.fill_null(0).to_numpy().astype(np.int32), codes.is_not_null().to_numpy()


# A decimal number with a point or a comma, without leading zeros: 007 is a name.
NUMERAL = r"^\s*[+-]?(0|[1-9]\d*)([.,]\d+)?\s*$"


def short_numerals(values: pl.Series) -> pl.Series:
    """Return numerals in their shortest spelling (3.0 and 3,00 as 3), and other text unchanged."""
    plain = values.str.strip_chars().str.replace(",", ".", literal=True)
    short = plain.str.replace(r"^(.*\.\d*?)0+$", "${1}").str.strip_chars_end(".")
    return pl.select(pl.when(values.str.contains(NUMERAL)).then(short).otherwise(values)).to_series().alias(values.name)


def refuse_other_classes(labels: pl.Series, classes: pl.Series, what: str) -> None:
    """Raise if no known label is among the classes of the votes.

    Args:
        labels: The known labels.
        classes: The classes of the votes.
        what: What messages call the known labels.
    """
    values = spelt_like(labels, classes).drop_nulls()
    if not len(values) or not len(classes) or lookup(classes, values)[1].any():
        return
    names = values.cast(pl.String).unique().sort()
    plain = classes.cast(pl.String).str.strip_chars().str.to_lowercase()
    is_same = bool(names.str.strip_chars().str.to_lowercase().is_in(plain.implode()).any())
    why = "they differ in case or blanks" if is_same else "are they the labels of another question?"
    raise DataError(f"{what} and the votes share no class ({quote(names)} against {quote(classes)}): {why}")


def spelt_like(values: pl.Series, vocabulary: pl.Series) -> pl.Series:
    """Spell numbers that the vocabulary lacks as it spells them, such as 3.0 as 3."""
    is_known = lookup(vocabulary, values)[1]
    unknown = values.filter(~pl.Series(is_known)).unique()
    if not len(unknown) or not len(vocabulary):
        return values
    names = vocabulary.cast(pl.String)
    table = pl.DataFrame({"short": short_numerals(names), "name": names}).filter(pl.col("short").is_unique())
    candidates = pl.DataFrame({"short": short_numerals(unknown.cast(pl.String)), "value": unknown.cast(pl.String)})
    matches = candidates.join(table, on="short")
    if not len(matches):
        return values
    return values.cast(pl.String).replace(matches["value"], matches["name"])


def codes_of(vocabulary: pl.Series, values: Iterable[Any], name: str) -> Codes:
    """Return the codes of these values; raise if one of them is not in the vocabulary."""
    series = as_series(values, name)
    codes, is_known = lookup(vocabulary, series)
    if not is_known.all():
        missing = series.filter(~pl.Series(is_known))
        raise DataError(f"{len(missing)} {name} are not in the annotations: {quote(missing)}")
    return codes


def recode(codes: Codes, old: pl.Series, new: pl.Series) -> Codes:
    """Translate codes into `old` to codes into `new`, which holds all the values in use."""
    if old.dtype == new.dtype and len(old) == len(new):
        return codes
    table, _ = lookup(new, old)
    return table[codes] if len(table) else codes


def union(a: pl.Series, b: pl.Series) -> pl.Series:
    """Return the union of two vocabularies; of different types, both as text."""
    if a.dtype != b.dtype:
        a, b = a.cast(pl.String), b.cast(pl.String)
    return pl.concat([a, b.rename(a.name)]).unique().sort()


def quote(values: Any, limit: int = 3) -> str:
    """Format a few values for an error message: 'a', 'b', 'c' and 4 more."""
    values = list(values)
    shown = ", ".join(repr(v)[:60] for v in values[:limit])
    n_hidden = len(values) - limit
    return f"{shown} and {n_hidden} more" if n_hidden > 0 else shown


def widened(old: pl.Series, new: pl.Series) -> tuple[pl.Series, Codes | None, Codes | None]:
    """Return the union of two vocabularies, and the new code of each old code (None: unchanged).

    New values are inserted into the old vocabulary, which is not sorted again.
    """
    if old.dtype != new.dtype:
        old, new = old.cast(pl.String), new.cast(pl.String)
        combined = pl.concat([old, new.rename(old.name)]).unique().sort()
        return combined, lookup(combined, old)[0], lookup(combined, new)[0]
    codes, is_known = _lookup_few(old, new) if 20 * len(new) < len(old) else lookup(old, new)
    if is_known.all():
        return old, None, codes
    added = new.filter(~pl.Series(is_known))
    positions = np.asarray(old.search_sorted(added, "left").to_numpy(), dtype=np.int64)
    is_old = np.ones(len(old) + len(added), dtype=bool)
    is_old[positions + np.arange(len(added))] = False
    old_positions = np.flatnonzero(is_old).astype(np.int32)
    order = np.empty(len(is_old), dtype=np.int64)
    order[is_old], order[~is_old] = np.arange(len(old)), len(old) + np.arange(len(added))
    combined = pl.concat([old, added.rename(old.name)]).gather(order)
    moved = np.empty(len(new), dtype=np.int32)
    moved[is_known] = old_positions[codes[is_known]] if len(old_positions) else 0
    moved[~is_known] = np.flatnonzero(~is_old)
    return combined, old_positions, moved


def _lookup_few(vocabulary: pl.Series, values: pl.Series) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """`lookup` of few values in a large vocabulary, by binary search."""
    position = vocabulary.search_sorted(values, "left").to_numpy().astype(np.int64)
    clipped = np.minimum(position, len(vocabulary) - 1)
    is_known = (position < len(vocabulary)) & (vocabulary.gather(clipped) == values).to_numpy()
    return clipped.astype(np.int32), is_known
