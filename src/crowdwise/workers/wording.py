"""Numbers about workers as people read them on a terminal."""

from __future__ import annotations

import math


def number(value: float | None, digits: int = 3) -> str:
    """0.731, or a dash where there is no number."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def between(low: float | None, high: float | None, digits: int = 3) -> str:
    """0.610 – 0.800, or nothing where there is no interval."""
    return "" if low is None or high is None else f"{number(low, digits)} – {number(high, digits)}"


def strength(probability: float | None, p_value: float | None) -> str:
    """How sure a flag is."""
    if probability is not None:
        return f"probability {probability:.3f}"
    return "" if p_value is None else f"p = {p_value:.2g}"


def some_of(shown: int, n: int) -> str:
    """Behind a title: how many of a long list are shown."""
    return f" ({shown} of {n:,})" if n > shown else ""


def amount(value: float | None, unit: float) -> str:
    """A number in somebody's own unit, of which `unit` is a usual spread: so many digits that differences are seen."""
    if value is None or not math.isfinite(value):
        return "–"
    if not (math.isfinite(unit) and 1e-6 < unit < 1e9) or abs(value) >= 1e12:
        return f"{value:.3g}"
    out = f"{value:,.{max(0, 2 - math.floor(math.log10(unit)))}f}"
    return out.removeprefix("-") if float(out.replace(",", "")) == 0 else out


def said(value: float) -> str:
    """A number as somebody gave it, to six digits."""
    return f"{value:,.6g}" if 1e-4 <= abs(value) < 1e9 or value == 0 else f"{value:.6g}"


def amounts(low: float | None, high: float | None, unit: float) -> str:
    """Two of them as an interval, or nothing."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"{amount(low, unit)} to {amount(high, unit)}"
