"""Strict JSON parsing for all readers: no repeated keys, no NaN, and no lone surrogates.

JSON can encode a lone surrogate such as "\\ud83d" (half a character, which tools produce that cut a text within an
emoji). UTF-8 cannot, so it is read as the replacement character �; the ledger lists the names that contain one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

# An escape: a surrogate pair, a lone surrogate (group 1), or any other.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_ESCAPE_BYTES = re.compile(_ESCAPE.pattern.encode(), re.DOTALL)


class JsonError(ValueError):
    """Valid JSON that is refused nevertheless."""


def decode(text: str, position: int = 0) -> tuple[Any, int]:
    """Return the value at this position, and where it ends; raises ValueError (with `pos` if json knows it)."""
    value, end = _DECODER.raw_decode(text, position)
    if isinstance(value, str | list | dict) and _may_hold_half(text, position, end):
        value = _DECODER.decode(replace_half_characters(text[position:end]))
    return value, end


def loads(text: str) -> Any:
    """Parse a text that is a single value."""
    return _DECODER.decode(replace_half_characters(text))


def replace_half_characters(text: str) -> str:
    """Replace lone surrogates in JSON text by �."""
    if not _may_hold_half(text, 0, len(text)):
        return text
    return _ESCAPE.sub(lambda match: "\\ufffd" if match[1] else match[0], text)


def replace_half_character_bytes(data: bytes) -> bytes:
    """Replace lone surrogates in encoded JSON text, which must not begin within an escape."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _ESCAPE_BYTES.sub(lambda match: b"\\ufffd" if match[1] else match[0], data)


def _may_hold_half(text: str, start: int, end: int) -> bool:
    return text.find("\\ud", start, end) >= 0 or text.find("\\uD", start, end) >= 0


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise JsonError(f"key {repeated[:60]!r} occurs twice in one object")
    return value


def _no_constant(name: str) -> None:
    raise JsonError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_unique)
