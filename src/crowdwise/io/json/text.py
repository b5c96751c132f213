"""JSON text as values, by one rule for every reader: no key twice, no NaN, and no half characters.

JSON can spell half a character, a lone surrogate like "\\ud83d" (what a tool leaves that cuts a text within an emoji).
No file and no table can hold it, so it is read as the replacement character �; the ledger says which names have one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

# From backslash to backslash: a whole pair, half a character, or any other escape.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_ESCAPE_BYTES = re.compile(_ESCAPE.pattern.encode(), re.DOTALL)


class JsonError(ValueError):
    """JSON by its grammar that we refuse all the same, with what is wrong."""


def decode(text: str, place: int = 0) -> tuple[Any, int]:
    """The value that begins at this place, and where it ends; raises ValueError (with `pos` where json knows it)."""
    value, end = _DECODER.raw_decode(text, place)
    if isinstance(value, str | list | dict) and _may_hold_half(text, place, end):
        value = _DECODER.decode(whole(text[place:end]))
    return value, end


def loads(text: str) -> Any:
    """A text that is one value and nothing else."""
    return _DECODER.decode(whole(text))


def whole(text: str) -> str:
    """JSON text with every half character written as �."""
    if not _may_hold_half(text, 0, len(text)):
        return text
    return _ESCAPE.sub(lambda found: "\\ufffd" if found[1] else found[0], text)


def whole_bytes(data: bytes) -> bytes:
    """The same for text that is not decoded yet; it must not begin within an escape."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _ESCAPE_BYTES.sub(lambda found: b"\\ufffd" if found[1] else found[0], data)


def _may_hold_half(text: str, start: int, end: int) -> bool:
    return text.find("\\ud", start, end) >= 0 or text.find("\\uD", start, end) >= 0


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise JsonError(f"key {twice[:60]!r} stands twice in one object")
    return value


def _no_constant(name: str) -> None:
    raise JsonError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_unique)
