"""What other libraries raise when a table or a file is not what it should be, and how to say it in short."""

from __future__ import annotations

import polars as pl

FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def first_line(error: BaseException) -> str:
    """What an error of another library says, in short."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
