"""The tables inside the page, as files to download: compressed CSV in data: links, which work without scripts."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl
import polars.selectors as cs

from ..io.csv.cells import to_csv

# All files together, in characters of the page; digits that a number keeps.
BUDGET = 3_500_000
DIGITS = 6


@dataclass(frozen=True)
class Download:
    """A file; `href` is empty where it did not fit into the page."""

    name: str
    about: str
    rows: int
    href: str
    kilobytes: int


def downloads(tables: Iterable[tuple[str, str, pl.DataFrame]]) -> list[Download]:
    """(name, what it is, table) in order of importance; what exceeds the budget is named but left out."""
    left, out = BUDGET, []
    for name, about, table in tables:
        if not len(table):
            continue
        text = to_csv(table.with_columns(cs.float().round_sig_figs(DIGITS)))
        # Nothing shrinks below a tenth: what cannot fit is not compressed to find that out.
        packed = base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode() if len(text) < 10 * left else ""
        fits = 0 < len(packed) <= left
        left -= len(packed) if fits else 0
        href = f"data:application/gzip;base64,{packed}" if fits else ""
        out.append(Download(name, about, len(table), href, max(len(text) // 1000, 1)))
    return out
