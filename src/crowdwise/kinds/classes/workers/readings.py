"""Ratings that may be read as classes or as numbers: whether the same workers are flagged, and why not."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import polars as pl

from ....core.errors import CrowdwiseError, CrowdwiseWarning
from ....workers.flags import Flag
from ...numbers.answers import number_votes
from ...numbers.methods import Combined
from ...numbers.workers import flag_numbers
from ..annotations import Annotations
from .agreement import has_whole_numbers

# More votes are not fitted a second time.
MOST = 20_000
_READ = "Read as numbers (--kind numbers)"
# Flags that do not depend on how the answers are read.
_NEITHER = ("unknown", "drift", "fast")


def reading_note(votes: Annotations, flags: Sequence[Flag]) -> str:
    """Return whether the same workers are flagged if the classes are read as numbers, and why not.

    Args:
        votes: The votes; the note is empty unless the classes are a few whole numbers.
        flags: The flags of the workers by their classes.
    """
    if not has_whole_numbers(votes) or not 0 < len(votes) <= MOST:
        return ""
    as_classes = _names(flags)
    try:
        as_numbers = _names(_flags_as_numbers(votes))
    except CrowdwiseError:  # too few answers for a fit of numbers
        return ""
    more = {worker: name for worker, name in as_numbers.items() if worker not in as_classes}
    fewer = {worker: name for worker, name in as_classes.items() if worker not in as_numbers}
    if not more and not fewer:
        return f"{_READ}, {'the same workers are' if as_classes else 'nobody is'} flagged."
    out = []
    if more:
        out.append(
            f"{_READ}, {_listed(more)} would be flagged too: numbers measure how far an answer is from the others' "
            "answers, classes only whether it is the same."
        )
    if fewer:
        out.append(
            f"{_READ}, {_listed(fewer)} would not be flagged: a near miss counts as nearly right there, but as wrong "
            "among classes."
        )
    return " ".join(out)


def _flags_as_numbers(votes: Annotations) -> list[Flag]:
    values = votes.classes.cast(pl.Float64).gather(votes.label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        numbers = number_votes(
            votes.tasks.gather(votes.task), votes.workers.gather(votes.worker), values, duplicates="keep"
        )
        return flag_numbers(numbers, Combined().fit(numbers))


def _names(flags: Sequence[Flag]) -> dict[Any, str]:
    return {flag.worker: flag.name for flag in flags if flag.name not in _NEITHER}


def _listed(flagged: dict[Any, str]) -> str:
    shown = [f"{worker} ({name})" for worker, name in list(flagged.items())[:5]]
    return ", ".join(shown) + (f" and {len(flagged) - 5} more" if len(flagged) > 5 else "")
