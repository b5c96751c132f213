"""Parse single values of exports: ids and labels as text, times as numbers."""

from __future__ import annotations

import json
import math
import re
from datetime import datetime
from typing import Any

from ...core.errors import DataError
from .base import NAN

# Mechanical Turk writes Mon Nov 15 10:00:00 PST 2026, with names for a few American time zones.
_ZONES = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7, "MST": -7, "MDT": -6, "CST": -6, "CDT": -5, "EST": -5, "EDT": -4}
_UNIX_DATE = re.compile(r"\w{3} (\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d) (\w{3}) (\d{4})")


def text(value: Any, what: str, at: str) -> str | None:
    """Return an id or a label as text: 7 and 7.0 become "7", true becomes "true"; lists and objects are refused."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    shown = json.dumps(value, ensure_ascii=False, default=str)[:40]
    raise DataError(f"{at}: {what} is {shown}; text or a number is needed")


def texts(value: Any, what: str, at: str) -> list[str]:
    """Return one label or a list of labels as a list, without empty ones."""
    values = value if isinstance(value, list | tuple) else [value]
    cells = [text(cell, what, at) for cell in values]
    return [cell for cell in cells if cell is not None and cell.strip()]


def number(value: Any) -> float:
    """Parse a number or its text; NaN for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return NAN
    try:
        out = float(value)
    except (ValueError, OverflowError):
        return NAN
    return out if math.isfinite(out) else NAN


def moment(value: Any) -> float:
    """Parse a number, an ISO date or Mechanical Turk's date as seconds since 1970; NaN for everything else."""
    if not isinstance(value, str):
        return number(value)
    value = value.strip()
    match = _UNIX_DATE.fullmatch(value)
    try:
        if match and match[4] in _ZONES:
            month, day, clock, zone, year = match.groups()
            plain = datetime.strptime(f"{day} {month} {year} {clock} +0000", "%d %b %Y %H:%M:%S %z")
            return plain.timestamp() - 3600 * _ZONES[zone]
        date = datetime.fromisoformat(value)
    except (ValueError, OverflowError):
        return number(value)
    if date.tzinfo is None:
        date = datetime.fromisoformat(f"{date.isoformat()}+00:00")
    return date.timestamp()
