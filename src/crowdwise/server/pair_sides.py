"""The two sides of a pair: a text, a picture, or both; and what the item is called."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

SIDES = ("left", "right")


def has_side(payload: Mapping[str, Any], side: str) -> bool:
    """Whether there is something to look at."""
    return any(isinstance(payload.get(f), str) and bool(payload[f].strip()) for f in (side, f"{side}_image"))


def item_of(payload: Mapping[str, Any], side: str) -> str:
    """The item's name: the one it is given (left_id), else its text, else its picture's address or file."""
    for field in (f"{side}_id", side):
        value = payload.get(field)
        if value is not None and str(value).strip():
            return str(value)
    where = str(payload.get(f"{side}_image", "")).strip()
    if where.startswith("data:"):
        return f"picture {hashlib.sha256(where.encode()).hexdigest()[:12]}"
    return where.removeprefix("/media/")


def alt_of(payload: Mapping[str, Any], side: str) -> str:
    """What a picture is called for those who do not see it: `left_alt`, else the item's name, of addresses the end."""
    given = payload.get(f"{side}_alt")
    if isinstance(given, str) and given.strip():
        return given
    if isinstance(payload.get(side), str) and payload[side].strip():
        return ""  # the text stands beside it
    name = item_of(payload, side)
    return unquote(name.rstrip("/").rpartition("/")[2]) if name.startswith("https://") else name
