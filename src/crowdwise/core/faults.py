"""Errors that other libraries raise on malformed tables and files, and their short form."""

from __future__ import annotations

import polars as pl

FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def first_line(error: BaseException) -> str:
    """Return the first line of an error of another library."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
