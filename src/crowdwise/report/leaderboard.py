"""Leaderboards: items by score with intervals, possible ranks, and groups that are not separated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from markupsafe import Markup

from . import svg
from .page import fragment
from .text import first_few, shown

# Shown at most: rows of a leaderboard, and leaderboards.
ROWS, BOARDS = 100, 12


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
