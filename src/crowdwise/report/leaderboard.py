"""Leaderboards: items by their scores, with intervals, the places they may have, and who cannot be told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from markupsafe import Markup

from . import svg
from .page import fragment
from .text import count, shown

# Rows of a leaderboard, and leaderboards, that the page shows.
ROWS, BOARDS = 100, 12


@dataclass(frozen=True)
class BoardRow:
    """An item in its place."""

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
    """A leaderboard; `apart` says who cannot be told apart, `more` what is not shown."""

    title: str
    apart: str
    rows: list[BoardRow]
    more: str


def boards(table: pl.DataFrame, titles: dict[int, str]) -> list[Board]:
    """From a table item, score, low, high, se, rank_low, rank_high, group, component, n_asked; the largest first."""
    out = []
    for island in table["component"].unique(maintain_order=True).head(BOARDS).to_list():
        own = table.filter(pl.col("component") == island)
        rows = _rows(own)
        more = f"The first {ROWS:,} of {len(own):,}; items.csv below has all." if len(own) > ROWS else ""
        out.append(Board(titles.get(island, "Leaderboard"), apart(own), rows, more))
    return out


def _rows(own: pl.DataFrame) -> list[BoardRow]:
    ends = own.select(pl.min_horizontal("low", "score").min(), pl.max_horizontal("high", "score").max()).row(0)
    start, stop = (float(v) if v is not None and np.isfinite(v) else w for v, w in zip(ends, (-1.0, 1.0), strict=True))
    stop = stop if stop > start else start + 1
    out = []
    for i, row in enumerate(own.head(ROWS).iter_rows(named=True), 1):
        known = row["se"] is not None and np.isfinite(row["se"])
        out.append(
            BoardRow(
                i,
                shown(row["item"]),
                f"{row['score']:.3f}",
                f"{row['low']:.2f} to {row['high']:.2f}" if known else "–",
                svg.interval(row["score"], row["low"], row["high"], start=start, stop=stop),
                f"{row['rank_low']} – {row['rank_high']}" if known else "–",
                str(row["group"]) if known else "–",
                f"{row['n_asked']:,}",
            )
        )
    return out


def apart(own: pl.DataFrame) -> str:
    """Who leads, and who cannot be told from them."""
    first = own.filter(pl.col("group") == 1)
    known = own["se"].is_not_null() & own["se"].is_not_nan()
    if len(own) < 2 or not bool(known.any()):
        return ""
    if len(first) == 1:
        return f"{shown(own['item'][0])} is surely ahead of all others."
    names = ", ".join(shown(name, 40) for name in first["item"].head(5).to_list())
    names += f" and {count(len(first) - 5, 'more', 'more')}" if len(first) > 5 else ""
    return f"These {len(first):,} cannot be told apart at the top: {names}."


def leaderboard(lines: list[str], found: list[Board]) -> Markup:
    """The section."""
    return fragment("comparisons/leaderboard.html.j2", lines=lines, boards=found)
