"""Spellings of numbers in tables: 3.0 for 3, as pandas writes integers with gaps, and 3,5 for 3.5."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from ..core.vocabulary import NUMERAL, short_numerals


def respell(labels: pl.Series, decimal_comma: bool) -> tuple[pl.Series, str | None]:
    """Shorten distinct labels if all are numbers (3.0 becomes 3), and return a note about it.

    Labels with fractions keep their spelling (1.0 beside 1.5), unless they are written with a decimal comma.
    """
    if not len(labels) or not bool(labels.str.contains(NUMERAL).all()):
        return labels, None
    commas = bool(labels.str.contains(",", literal=True).any())
    if commas and not decimal_comma:
        return labels, None
    short = short_numerals(labels)
    if not commas and bool(short.str.contains(".", literal=True).any()):
        return labels, None
    changed = (short != labels).arg_true()
    if not len(changed):
        return labels, None
    first = int(changed[0])
    why = " (a decimal comma)" if commas else ""
    return short, f"labels such as {labels[first]!r} are read as {short[first]!r}{why}"


def with_points(frame: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    """Replace decimal commas by points in these columns."""
    columns = [name for name in columns if frame.schema[name] == pl.String]
    return frame.with_columns(pl.col(columns).str.replace(r"^(\s*[+-]?\d*),(\d+\s*)$", "${1}.${2}"))
