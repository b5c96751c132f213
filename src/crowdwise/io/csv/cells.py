"""Text that a spreadsheet would take for a formula: written with an apostrophe before it, read without.

Ids and labels come from strangers, and a cell like =HYPERLINK(...) runs when the table is opened. The apostrophe is
what spreadsheets themselves use for "this is text". Text that begins with apostrophes and such a sign gets one more,
so that what is read is what was written. Numbers, also those that are text (-1), are left alone.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

_SIGN = r"[=+\-@\x01-\x1f]"
_RISKY = f"^'*{_SIGN}"
_GUARDED = f"^'+{_SIGN}"
_NUMBER = r"^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$"
# What a chunk of a file holds when a cell in it may be guarded, cut in two by the chunk's end or not.
TRACE = re.compile(rb"'(?:[=+\-@\x01-\x1f]|\Z)")


def to_csv(frame: pl.DataFrame, path: Path | None = None, *, separator: str = ",", header: bool = True) -> str:
    """The table as CSV, in a file or as a string."""
    names = {name: _guard(name) for name in frame.columns}
    text = pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String)
    risky = text.str.contains(_RISKY) & ~text.str.contains(_NUMBER)
    guarded = text.str.replace("^", "'")
    safe = frame.with_columns(pl.when(risky).then(guarded).otherwise(text)).rename(names)
    if path is None:
        return safe.write_csv(separator=separator, include_header=header)
    safe.write_csv(path, separator=separator, include_header=header)
    return ""


def restore(frame: pl.DataFrame) -> pl.DataFrame:
    """The cells of a table of text as they were before `to_csv`."""
    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text.str.contains(_GUARDED)).then(text.str.slice(1)).otherwise(text))


def restore_name(name: str) -> str:
    """The same for a name in the header."""
    return name[1:] if re.match(_GUARDED, name) else name


def _guard(name: str) -> str:
    return f"'{name}" if re.match(_RISKY, name) and not re.match(_NUMBER, name) else name
