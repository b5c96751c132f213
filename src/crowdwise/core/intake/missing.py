"""Labels that read like a missing value: they may be a class, so nothing is dropped, but somebody is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..vocabulary import Codes

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
