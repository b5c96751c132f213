"""Vocabularies: the user's own ids and classes, sorted, each standing for the code at its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .errors import DataError

Codes = npt.NDArray[np.int32]


def as_series(values: Any, name: str) -> pl.Series:
    """Any one-dimensional collection as a polars Series of strings, integers or booleans.

    Floats that are whole numbers (what pandas makes of integers with gaps) become integers again.
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
            half = quote([next(v for v in values if isinstance(v, str) and not _is_whole(v))])
            raise DataError(f"{name} holds {half}, which has half a character (a lone surrogate); fix it") from error
        except (TypeError, pl.exceptions.PolarsError) as error:
            kinds = sorted({type(v).__name__ for v in values if v is not None})
            raise DataError(
                f"{name} mixes the types {', '.join(kinds)}; convert them to one type, for instance with str()"
            ) from error
    return _plain(series)


def _is_whole(text: str) -> bool:
    """Whether a text can be written at all: half a character (a lone surrogate) cannot."""
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
        # Beyond 2^63 numbers are ids, not quantities: as text they keep every digit.
        return narrow if narrow.null_count() == series.null_count() else series.cast(pl.String)
    if dtype.is_float():
        series = series.fill_nan(None)
        whole = series.drop_nulls()
        if bool((whole == whole.round()).all()) and bool((whole.abs() < 2**53).all()):
            return series.cast(pl.Int64)
        return series.cast(pl.String)
    if dtype.is_temporal() or dtype.is_decimal():
        return series.cast(pl.String)
    raise DataError(
        f"column {series.name!r} holds {dtype} values; task, worker and label must be text, numbers or booleans"
    )


def sorted_vocabulary(values: Any, name: str) -> pl.Series:
    """The distinct values in ascending order, without nulls."""
    series = as_series(values, name)
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if series.dtype == pl.Null:
        series = series.cast(pl.String)
    return series.drop_nulls().unique().sort()


# So many times as many names as are looked up are sifted first.
FEW = 20


def lookup(vocabulary: pl.Series, values: pl.Series) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Code of every value, and whether it is known at all (the code of an unknown value means nothing).

    Values of another type than the vocabulary are compared by how they are written: 7 matches "7", not "007".
    """
    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        values = values.cast(pl.String)
    if vocabulary.dtype != values.dtype:
        vocabulary, values = vocabulary.cast(pl.String), values.cast(pl.String)
    table = pl.DataFrame({"value": vocabulary, "code": np.arange(len(vocabulary), dtype=np.int32)})
    if len(vocabulary) > FEW * max(len(values), 1000):  # no table of a million for a few
        table = table.filter(vocabulary.is_in(values.unique().implode()))
    joined = pl.DataFrame({"value": values}).join(table, on="value", how="left", maintain_order="left")
    codes = joined["code"]
    return codes.fill_null(0).to_numpy().astype(np.int32), codes.is_not_null().to_numpy()


# A decimal number; a point or a comma before its fraction, no zeros before its first digit: 007 is a name.
NUMERAL = r"^\s*[+-]?(0|[1-9]\d*)([.,]\d+)?\s*$"


def short_numerals(values: pl.Series) -> pl.Series:
    """Numerals in their shortest spelling, 3.0 and 3,00 as 3; everything else as it is."""
    plain = values.str.strip_chars().str.replace(",", ".", literal=True)
    short = plain.str.replace(r"^(.*\.\d*?)0+$", "${1}").str.strip_chars_end(".")
    return pl.select(pl.when(values.str.contains(NUMERAL)).then(short).otherwise(values)).to_series().alias(values.name)


def spelt_like(values: pl.Series, vocabulary: pl.Series) -> pl.Series:
    """Values that the vocabulary lacks, except for the spelling of a number, as it spells them: 3.0 is 3 there."""
    known = lookup(vocabulary, values)[1]
    strange = values.filter(~pl.Series(known)).unique()
    if not len(strange) or not len(vocabulary):
        return values
    names = vocabulary.cast(pl.String)
    table = pl.DataFrame({"short": short_numerals(names), "name": names}).filter(pl.col("short").is_unique())
    meant = pl.DataFrame({"short": short_numerals(strange.cast(pl.String)), "value": strange.cast(pl.String)})
    found = meant.join(table, on="short")
    if not len(found):
        return values
    return values.cast(pl.String).replace(found["value"], found["name"])


def codes_of(vocabulary: pl.Series, wanted: Iterable[Any], name: str) -> Codes:
    """The codes of these values, all of which must be known."""
    series = as_series(wanted, name)
    codes, known = lookup(vocabulary, series)
    if not known.all():
        missing = series.filter(~pl.Series(known))
        raise DataError(f"{len(missing)} {name} are not in the annotations: {quote(missing)}")
    return codes


def recode(codes: Codes, old: pl.Series, new: pl.Series) -> Codes:
    """Codes into `old` as codes into `new`, which holds all the values in use."""
    if old.dtype == new.dtype and len(old) == len(new):
        return codes
    table, _ = lookup(new, old)
    return table[codes] if len(table) else codes


def union(a: pl.Series, b: pl.Series) -> pl.Series:
    """Both vocabularies in one; of different types, both as text."""
    if a.dtype != b.dtype:
        a, b = a.cast(pl.String), b.cast(pl.String)
    return pl.concat([a, b.rename(a.name)]).unique().sort()


def quote(values: Any, limit: int = 3) -> str:
    """A few values for an error message: 'a', 'b', 'c' and 4 more."""
    values = list(values)
    shown = ", ".join(repr(v)[:60] for v in values[:limit])
    more = len(values) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def widened(old: pl.Series, new: pl.Series) -> tuple[pl.Series, Codes | None, Codes | None]:
    """Both vocabularies in one, and where the codes of each move to (None: nowhere).

    What the old one lacks finds its places there: it is not sorted again.
    """
    if old.dtype != new.dtype:
        old, new = old.cast(pl.String), new.cast(pl.String)
        both = pl.concat([old, new.rename(old.name)]).unique().sort()
        return both, lookup(both, old)[0], lookup(both, new)[0]
    codes, known = _found(old, new) if 20 * len(new) < len(old) else lookup(old, new)
    if known.all():
        return old, None, codes
    added = new.filter(~pl.Series(known))
    place = np.asarray(old.search_sorted(added, "left").to_numpy(), dtype=np.int64)
    stay = np.ones(len(old) + len(added), dtype=bool)
    stay[place + np.arange(len(added))] = False
    at = np.flatnonzero(stay).astype(np.int32)
    order = np.empty(len(stay), dtype=np.int64)
    order[stay], order[~stay] = np.arange(len(old)), len(old) + np.arange(len(added))
    both = pl.concat([old, added.rename(old.name)]).gather(order)
    moved = np.empty(len(new), dtype=np.int32)
    moved[known] = at[codes[known]] if len(at) else 0
    moved[~known] = np.flatnonzero(~stay)
    return both, at, moved


def _found(vocabulary: pl.Series, values: pl.Series) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """`lookup` of few values in a large vocabulary: by halving, without a table of it."""
    place = vocabulary.search_sorted(values, "left").to_numpy().astype(np.int64)
    inside = np.minimum(place, len(vocabulary) - 1)
    known = (place < len(vocabulary)) & (vocabulary.gather(inside) == values).to_numpy()
    return inside.astype(np.int32), known
