"""Leaderboards: items by score with intervals, possible ranks, and groups that are not separated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ..core.errors import CrowdwiseError
from ..core.result import Result
from ..core.votes import Votes
from ..evaluation.evaluate import evaluate
from ..evaluation.scores import Table
from . import svg
from .page import fragment
from .plain_page import fitted
from .sheet import Section
from .text import count, first_few, shown

# Shown at most: rows of a leaderboard, and leaderboards.
ROWS, BOARDS = 100, 12
# Number of resamples for the intervals of the scores.
RESAMPLES = 300


@dataclass(frozen=True)
class BoardRow:
    """A row of a leaderboard."""

    place: int
    item: str
    score: str
    between: str
    drawing: Markup
    places: str
    group: str
    asked: str


@dataclass(frozen=True)
class Board:
    """A leaderboard; `apart` states which items are not separated, `more` what is not shown."""

    title: str
    apart: str
    rows: list[BoardRow]
    more: str


def boards(table: pl.DataFrame, titles: dict[int, str]) -> list[Board]:
    """Build leaderboards from a table item, score, low, high, se, rank_low, rank_high, group, component, n_asked.

    The largest component comes first.
    """
    out = []
    for component in table["component"].unique(maintain_order=True).head(BOARDS).to_list():
        board = table.filter(pl.col("component") == component)
        rows = _rows(board)
        more = f"The first {ROWS:,} of {len(board):,}; items.csv below has all." if len(board) > ROWS else ""
        out.append(Board(titles.get(component, "Leaderboard"), apart(board), rows, more))
    return out


def _rows(board: pl.DataFrame) -> list[BoardRow]:
    ends = board.select(pl.min_horizontal("low", "score").min(), pl.max_horizontal("high", "score").max()).row(0)
    start, stop = (float(v) if v is not None and np.isfinite(v) else w for v, w in zip(ends, (-1.0, 1.0), strict=True))
    stop = stop if stop > start else start + 1
    out = []
    for i, row in enumerate(board.head(ROWS).iter_rows(named=True), 1):
        has_error = row["se"] is not None and np.isfinite(row["se"])
        out.append(
            BoardRow(
                i,
                shown(row["item"]),
                f"{row['score']:.3f}",
                f"{row['low']:.2f} to {row['high']:.2f}" if has_error else "–",
                svg.interval(row["score"], row["low"], row["high"], start=start, stop=stop),
                f"{row['rank_low']} – {row['rank_high']}" if has_error else "–",
                str(row["group"]) if has_error else "–",
                f"{row['n_asked']:,}",
            )
        )
    return out


def apart(board: pl.DataFrame) -> str:
    """Return which item leads, and which items are not separated from it."""
    first = board.filter(pl.col("group") == 1)
    has_error = board["se"].is_not_null() & board["se"].is_not_nan()
    if len(board) < 2 or not bool(has_error.any()):
        return ""
    if len(first) == 1:
        return f"{shown(board['item'][0])} is significantly ahead of all other items."
    names = first_few([shown(name, 40) for name in first["item"].to_list()], 5)
    return f"These {len(first):,} items cannot be distinguished at the top: {names}."


def leaderboard(lines: list[str], boards_: list[Board]) -> Markup:
    """Render the section."""
    return fragment("comparisons/leaderboard.html.j2", lines=lines, boards=boards_)


# ----------------------------------------------------------------
# Sections of the pages with leaderboards.


def sentences_text(lines: Sequence[str]) -> str:
    """Join sentences without capitals and full stops into a text."""
    return " ".join(f"{line[:1].upper()}{line[1:]}." for line in lines)


def answers_section(votes: Votes[Any], rows: list[list[str]]) -> Section:
    """Return the section with facts about the answers, and the ledger."""
    facts = fragment("tables.html.j2", tables=[Table("The answers", ["", ""], rows)])
    ledger = fragment("ledger.html.j2", ledger=votes.ledger.to_dict())
    return Section("data", "Data", "Data and ledger", facts + ledger)


def order_truth_section(result: Result, truth: Any, missing: str, unit: Callable[[Any], str]) -> Section:
    """Return the section with the scores against the truth.

    Args:
        result: The result.
        truth: The truth; None if there is none.
        missing: What to say without truth.
        unit: Returns what an evaluation scores, in the singular.
    """
    rows, about, tables = [], missing, []
    if truth is not None:
        try:
            scores = evaluate(result, truth, resamples=RESAMPLES)
            rows, tables = scores.rows(), [fitted(table) for table in scores.tables()]
            about = f"Against {count(scores.n, unit(scores))}."
        except CrowdwiseError as error:
            about = shown(f"{error}", 300)
    body = fragment("comparisons/truth.html.j2", rows=rows, about=about) + fragment("tables.html.j2", tables=tables)
    return Section("truth", "Truth", "Against the truth", body)


def readable_truth(read: Callable[[Any, Votes[Any]], object], truth: Any, votes: Votes[Any]) -> Any:
    """Return the truth if it is gold for the workers; None if it is about something else."""
    if truth is None:
        return None
    try:
        read(truth, votes)
    except CrowdwiseError:
        return None
    return truth
