"""CSV output without formula injection: text that a spreadsheet would run as a formula gets an apostrophe.

Ids and labels are untrusted, and a cell like =HYPERLINK(...) runs when the table is opened in a spreadsheet. A leading
apostrophe marks text there; `restore` removes it on reading. Text that already begins with apostrophes and such a sign
gets one more, so that the round trip is exact. Numbers, also as text (-1), are unchanged.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

_SIGN = r"[=+\-@\x01-\x1f]"
_RISKY = f"^'*{_SIGN}"
_GUARDED = f"^'+{_SIGN}"
_NUMBER = r"^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$"
# Matches a chunk of a file that may hold a guarded cell, also one that is cut at the end of the chunk.
TRACE = re.compile(rb"'(?:[=+\-@\x01-\x1f]|\Z)")


def to_csv(frame: pl.DataFrame, path: Path | None = None, *, separator: str = ",", header: bool = True) -> str:
    """Write the table as CSV to a file, or return it as a string."""
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
    """Remove the apostrophes that `to_csv` added."""
    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text.str.contains(_GUARDED)).then(text.str.slice(1)).otherwise(text))


def restore_name(name: str) -> str:
    """Remove the apostrophe that `to_csv` added to a column name."""
    return name[1:] if re.match(_GUARDED, name) else name


def _guard(name: str) -> str:
    return f"'{name}" if re.match(_RISKY, name) and not re.match(_NUMBER, name) else name
