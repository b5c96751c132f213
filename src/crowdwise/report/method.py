"""The method in the report: name, summary, paper, parameters, decisions of the method, versions."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl
import polars.selectors as cs
from markupsafe import Markup

from ..core import method_registry as registry
from ..core.result import Result
from ..io.csv.cells import to_csv
from . import svg as charts
from .text import shown

# ----------------------------------------------------------------
# Downloads inside the page: compressed CSV in data: links, which work without scripts.

# Maximum size of all files in characters of the page, and significant digits of numbers.
BUDGET = 3_500_000
DIGITS = 6


@dataclass(frozen=True)
class Download:
    """A file; `href` is empty if it did not fit into the page."""

    name: str
    about: str
    rows: int
    href: str
    kilobytes: int


def downloads(tables: Iterable[tuple[str, str, pl.DataFrame]]) -> list[Download]:
    """Build the downloads from (name, description, table) by importance; what exceeds the budget is listed without
    content.
    """
    left, out = BUDGET, []
    for name, about, table in tables:
        if not len(table):
            continue
        text = to_csv(table.with_columns(cs.float().round_sig_figs(DIGITS)))
        # Compression gains at most a factor of ten: larger files are not compressed at all.
        packed = base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode() if len(text) < 10 * left else ""
        fits = 0 < len(packed) <= left
        left -= len(packed) if fits else 0
        href = f"data:application/gzip;base64,{packed}" if fits else ""
        out.append(Download(name, about, len(table), href, max(len(text) // 1000, 1)))
    return out


def described(result: Result) -> dict[str, Any]:
    """Return the method in words and values."""
    card = registry.CARDS.get(result.method) or registry.LEARNERS.get(result.method)
    extra = [name for name in ("chosen", "reason", "temperature") if name in result.extra]
    return {
        "name": shown(result.method),
        "summary": "" if card is None else card.summary,
        "paper": "" if card is None else card.paper,
        "params": [(shown(name), _value(value)) for name, value in result.params.items()],
        "extra": [(name, shown(result.extra[name], 200)) for name in extra],
        "iterations": result.n_iter,
        "converged": result.converged,
        "versions": ", ".join(f"{shown(name)} {shown(v, 30)}" for name, v in result.versions.items()),
    }


def trace(result: Result) -> Markup:
    """Draw the objective by iteration, if there are enough iterations."""
    if len(result.trace) < 3:
        return Markup("")
    series = [("objective", list(range(1, len(result.trace) + 1)), result.trace.tolist())]
    return charts.curves(series, "iteration", "The method's objective by iteration", width=420, height=200)


def _value(value: Any) -> str:
    """Format a parameter; a list without its brackets."""
    return shown(", ".join(map(str, value)) if isinstance(value, list | tuple) else value, 200)
