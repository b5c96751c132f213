"""Single values as the tools write them: ids, labels and moments, each as text or a number."""

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
    """An id or a label as text: 7 and 7.0 are "7", true is "true"; lists and objects are refused."""
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
    """One label or a list of them, without those that are empty."""
    values = value if isinstance(value, list | tuple) else [value]
    found = [text(each, what, at) for each in values]
    return [each for each in found if each is not None and each.strip()]


def number(value: Any) -> float:
    """A number, or text that reads like one; NaN for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return NAN
    try:
        out = float(value)
    except (ValueError, OverflowError):
        return NAN
    return out if math.isfinite(out) else NAN


def moment(value: Any) -> float:
    """Seconds since 1970 of a number, an ISO date or Mechanical Turk's kind of date; NaN when it is none."""
    if not isinstance(value, str):
        return number(value)
    value = value.strip()
    match = _UNIX_DATE.fullmatch(value)
    try:
        if match and match[4] in _ZONES:
            month, day, clock, zone, year = match.groups()
            plain = datetime.strptime(f"{day} {month} {year} {clock} +0000", "%d %b %Y %H:%M:%S %z")
            return plain.timestamp() - 3600 * _ZONES[zone]
        found = datetime.fromisoformat(value)
    except (ValueError, OverflowError):
        return number(value)
    if found.tzinfo is None:
        found = datetime.fromisoformat(f"{found.isoformat()}+00:00")
    return found.timestamp()
