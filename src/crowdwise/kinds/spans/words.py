"""The plain tokeniser: words (letters, digits, underscores) and every other mark that is no blank, each a token."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.side_tables import column_by
from ...core.votes import Votes
from ...maths.spans.rows import I8, starts
from ...maths.spans.units import Units

WORD = re.compile(r"\w+|[^\w\s]")
# A word and the blank after it, in characters, where no text is known.
USUAL_WORD = 6


def words_of(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end.

    >>> words_of("Dr. Ann-Lee")
    [(0, 2), (2, 3), (4, 7), (7, 8), (8, 11)]
    """
    return [found.span() for found in WORD.finditer(text)]


def texts_of(votes: Votes[Any]) -> list[str | None]:
    """The text of every task, None where it is not known (see votes.about)."""
    column = column_by(votes.about_tasks, "text", votes.tasks)
    return [None] * votes.n_tasks if column is None else [None if x is None else str(x) for x in column.to_list()]


def word_units(votes: Votes[Any]) -> tuple[Units, npt.NDArray[np.bool_]]:
    """Every word of every known text, and which tasks have one; tasks that count tokens have a unit a token."""
    tokens = column_by(votes.about_tasks, "tokens", votes.tasks)
    many = [None] * votes.n_tasks if tokens is None else tokens.cast(pl.Int64, strict=False).to_list()
    count = np.zeros(votes.n_tasks, dtype=np.int64)
    known = np.zeros(votes.n_tasks, dtype=bool)
    ends: list[tuple[int, int]] = []
    for i, (text, n) in enumerate(zip(texts_of(votes), many, strict=True)):
        found = [(j, j + 1) for j in range(n)] if n is not None else [] if text is None else words_of(text)
        known[i] = text is not None or n is not None
        count[i] = len(found)
        ends += found
    flat = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return Units(starts(count), flat[:, 0].copy(), flat[:, 1].copy()), known


def extents(votes: Votes[Any]) -> I8:
    """How long each task's text is, 0 where it is not known."""
    return np.array([0 if text is None else len(text) for text in texts_of(votes)], dtype=np.int64)
