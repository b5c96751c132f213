"""Sections that pages of several kinds have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..workers.coefficient import Coefficient
from . import svg
from .page import fragment
from .sheet import Section


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
