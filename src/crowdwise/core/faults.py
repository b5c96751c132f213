"""Errors that other libraries raise on malformed tables and files, and where warnings point."""

from __future__ import annotations

import sys

import polars as pl

FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def first_line(error: BaseException) -> str:
    """Return the first line of an error of another library."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def caller_level() -> int:
    """Return the `stacklevel` for `warnings.warn` that points at the first caller outside the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("crowdwise."):
        level, frame = level + 1, frame.f_back
    return level
