"""Names and texts that come from strangers: bounded, and without control characters."""

from __future__ import annotations

import json
import re
from typing import Any

from .problems import Problem

NAME, LINE, TEXT, KEY = 200, 1_000, 60_000, 200
# Control characters, and lone halves of surrogate pairs, which no database takes.
_BAD = re.compile(r"[\x00-\x1f\x7f\x80-\x9f\ud800-\udfff]")
_ORDERED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
_BAD_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ud800-\udfff]")


def name_of(text: Any, what: str, longest: int = NAME) -> str:
    """A name of one line: an id, a class, a key."""
    if not isinstance(text, str):
        raise Problem(422, f"{what} must be text, got {_short(text)}")
    if not text.strip():
        raise Problem(422, f"{what} is empty")
    if len(text) > longest:
        raise Problem(422, f"{what} has {len(text)} characters; {longest} is the most")
    if _BAD.search(text):
        raise Problem(422, f"{what} has a control character in it; leave it out")
    return text


def text_of(text: Any, what: str, longest: int = TEXT) -> str:
    """A text that may have several lines."""
    if not isinstance(text, str):
        raise Problem(422, f"{what} must be text, got {_short(text)}")
    if len(text) > longest:
        raise Problem(422, f"{what} has {len(text)} characters; {longest} is the most")
    if _BAD_TEXT.search(text):
        raise Problem(422, f"{what} has a control character in it; leave it out")
    return text


def payload_of(payload: Any, what: str, depth: int = 3) -> Any:
    """What a task shows: texts, numbers, lists and fields of them, all bounded."""
    if isinstance(payload, str):
        return text_of(payload, what)
    if payload is None or isinstance(payload, bool) or (isinstance(payload, int | float) and abs(payload) < 1e300):
        return payload
    if depth and isinstance(payload, list) and len(payload) <= 1_000:
        return [payload_of(each, what, depth - 1) for each in payload]
    if depth and isinstance(payload, dict) and len(payload) <= 100:
        return {name_of(k, f"a field of {what}"): payload_of(v, what, depth - 1) for k, v in payload.items()}
    raise Problem(422, f"{what} holds {_short(payload)}; texts, numbers, and short lists and fields of them are taken")


def dumps(value: Any) -> str:
    """Compact JSON, keys in order: equal values are equal texts."""
    return _ORDERED.encode(value)


def _short(value: Any) -> str:
    return f"{type(value).__name__} {str(value)[:40]!r}"
