"""Sheet: what a kind of answers puts on the page; the frame around it is the same for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from markupsafe import Markup

from ..workers.agreement import Coefficient
from . import svg
from .page import fragment


@dataclass(frozen=True)
class Section:
    """A part of the page: `anchor` is its id, `name` stands in the navigation, `title` above it."""

    anchor: str
    name: str
    title: str
    body: Markup


@dataclass(frozen=True)
class Sheet:
    """`lead` says how much there is, `tables` (file, what it is, table) can be downloaded, what matters most first.

    `rounds` is what the method counts its iterations in; `data` is what the page's script looks up (see report.js).
    """

    lead: str
    sections: list[Section]
    tables: list[tuple[str, str, pl.DataFrame]]
    rounds: str = "iteration"
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """An agreement coefficient with its bar."""

    of: Coefficient
    bar: Markup


def measures(coefficients: Sequence[Coefficient]) -> list[Measure]:
    """All coefficients drawn on one scale, which begins at zero unless something is negative."""
    lows = [c.low if c.low is not None else c.value for c in coefficients]
    start = -1.0 if any(low is not None and low < -0.2 for low in lows) else -0.2
    return [Measure(c, svg.interval(c.value, c.low, c.high, start=start)) for c in coefficients]


def agreement_section(coefficients: Sequence[Coefficient], about: str) -> Section:
    """The coefficients in a table; `about` says what they are."""
    body = fragment("agreement.html.j2", measures=measures(coefficients), about=about)
    return Section("agreement", "Agreement", "Agreement", body)
