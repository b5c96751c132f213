"""The two sides of a pair: a text, a picture, or both; and the name of the item."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

SIDES = ("left", "right")


def has_side(payload: Mapping[str, Any], side: str) -> bool:
    """Whether the side has a text or a picture."""
    return any(isinstance(payload.get(f), str) and bool(payload[f].strip()) for f in (side, f"{side}_image"))


def item_of(payload: Mapping[str, Any], side: str) -> str:
    """The name of the item: its id (left_id), else its text, else the address or file of its picture."""
    for field in (f"{side}_id", side):
        value = payload.get(field)
        if value is not None and str(value).strip():
            return str(value)
    where = str(payload.get(f"{side}_image", "")).strip()
    if where.startswith("data:"):
        return f"picture {hashlib.sha256(where.encode()).hexdigest()[:12]}"
    return where.removeprefix("/media/")


def alt_of(payload: Mapping[str, Any], side: str) -> str:
    """The alternative text of a picture: `left_alt`, else the name of the item, of addresses the last part."""
    given = payload.get(f"{side}_alt")
    if isinstance(given, str) and given.strip():
        return given
    if isinstance(payload.get(side), str) and payload[side].strip():
        return ""  # the text is shown beside it
    name = item_of(payload, side)
    return unquote(name.rstrip("/").rpartition("/")[2]) if name.startswith("https://") else name
