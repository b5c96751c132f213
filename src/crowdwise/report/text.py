"""Formatting of values. Ids, labels and notes are untrusted: they are shortened and stripped of control characters."""

from __future__ import annotations

import math
from typing import Any

# Longer names are shortened on the page; the downloads hold the full names.
LONGEST = 80


def shown(value: Any, longest: int = LONGEST) -> str:
    """Return an untrusted value as text for the page (still to be escaped, which the template and svg.py do)."""
    text = "".join("\ufffd" if ord(c) < 32 or 127 <= ord(c) < 160 else c for c in str(value)[: longest + 1])
    return text if len(text) <= longest else text[: longest - 1] + "…"


def exists(value: float | None) -> bool:
    """Whether there is a finite number."""
    return value is not None and math.isfinite(value)


def number(value: float | None, digits: int = 2) -> str:
    """0.73, or a dash if there is no number."""
    return f"{value:.{digits}f}" if value is not None and math.isfinite(value) else "–"


def percent(value: float | None, digits: int = 0) -> str:
    """73 %; never rounded to certainty: 99.97 % is "> 99 %", not 100 %."""
    if value is None or not math.isfinite(value):
        return "–"
    out = f"{100 * value:.{digits}f}"
    step = 10.0**-digits
    if value < 1 and float(out) >= 100:
        return f"> {100 - step:.{digits}f} %"
    if value > 0 and float(out) == 0:
        return f"< {step:.{digits}f} %"
    return f"{out} %"


def span(low: float | None, high: float | None, digits: int = 2) -> str:
    """0.61 to 0.80, or "" if there is no interval."""
    return f"{number(low, digits)} to {number(high, digits)}" if exists(low) and exists(high) else ""


def count(n: int, one: str, many: str = "") -> str:
    """1 worker, 1,200 workers."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def strength(probability: float | None, p_value: float | None) -> str:
    """Return the strength of a flag as text."""
    if probability is not None:
        return f"probability {percent(probability)}"
    if p_value is None:
        return ""
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"


def first_few(names: list[str], at_most: int) -> str:
    """a, b, c and 4 more."""
    more = len(names) - at_most
    return ", ".join(names[:at_most]) + (f" and {more:,} more" if more > 0 else "")
