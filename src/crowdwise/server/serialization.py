"""Validation of names, texts and JSON values from clients, and canonical JSON."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from .problems import Problem

NAME, LINE, TEXT, KEY = 200, 1_000, 60_000, 200
# The largest number, and the most items of a list or an object, in an answer.
LARGEST, ITEMS = 1e300, 10_000
# Control characters, and lone surrogates, which databases refuse.
_BAD = re.compile(r"[\x00-\x1f\x7f\x80-\x9f\ud800-\udfff]")
# Unicode categories of invisible characters: format (zero-width spaces, direction marks), line and paragraph
# separators. With them a name may look like another one.
_INVISIBLE = ("Cf", "Zl", "Zp")
# Joiners are format characters that names in Persian, Hindi and other languages need.
_JOINERS = "\u200c\u200d"
# Other invisible characters: the grapheme joiner, Hangul fillers, Khmer vowels and Mongolian selectors without a
# glyph, the empty Braille pattern.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
_ORDERED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
_BAD_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ud800-\udfff]")


def name_of(text: Any, what: str, longest: int = NAME) -> str:
    """Check a name of one line: an id, a class, a key."""
    if not isinstance(text, str):
        raise Problem(422, f"{what} must be text, got {_short(text)}")
    if not text.strip():
        raise Problem(422, f"{what} is empty")
    if len(text) > longest:
        raise Problem(422, f"{what} has {len(text)} characters; {longest} is the most")
    if _BAD.search(text):
        raise Problem(422, f"{what} has a control character in it; leave it out")
    return text


def worker_name_of(text: Any) -> str:
    """Check the name of a worker, which appears in URLs and tables."""
    name = name_of(text, "the name of a worker")
    if name.strip() in (".", ".."):
        raise Problem(422, f"{name.strip()!r} cannot be the name of a worker; choose another")
    for character in name:
        if character in _BLANK or (unicodedata.category(character) in _INVISIBLE and character not in _JOINERS):
            code = f"U+{ord(character):04X}"
            raise Problem(422, f"the name of a worker has an invisible character in it ({code}); type it without it")
    return name


def text_of(text: Any, what: str, longest: int = TEXT) -> str:
    """Check a text that may have several lines."""
    if not isinstance(text, str):
        raise Problem(422, f"{what} must be text, got {_short(text)}")
    if len(text) > longest:
        raise Problem(422, f"{what} has {len(text)} characters; {longest} is the most")
    if _BAD_TEXT.search(text):
        raise Problem(422, f"{what} has a control character in it; leave it out")
    return text


def payload_of(payload: Any, what: str, depth: int = 3) -> Any:
    """Check the payload of a task: texts, numbers, and bounded lists and objects of them."""
    if isinstance(payload, str):
        return text_of(payload, what)
    if payload is None or isinstance(payload, bool) or (isinstance(payload, int | float) and abs(payload) < LARGEST):
        return payload
    if depth and isinstance(payload, list) and len(payload) <= 1_000:
        return [payload_of(part, what, depth - 1) for part in payload]
    if depth and isinstance(payload, dict) and len(payload) <= 100:
        return {name_of(k, f"a field of {what}"): payload_of(v, what, depth - 1) for k, v in payload.items()}
    raise Problem(422, f"{what} holds {_short(payload)}; texts, numbers, and short lists and fields of them are taken")


def value_of(value: Any, what: str, depth: int = 4) -> Any:
    """Check the JSON of an answer: texts, numbers, and bounded lists and objects; its kind checks the meaning."""
    if isinstance(value, str):
        return text_of(value, what)
    if value is None or isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < LARGEST):
        return value
    if depth and isinstance(value, list) and len(value) <= ITEMS:
        return [value_of(item, what, depth - 1) for item in value]
    if depth and isinstance(value, dict) and len(value) <= ITEMS:
        return {text_of(name, f"a field of {what}", NAME): value_of(v, what, depth - 1) for name, v in value.items()}
    raise Problem(422, f"{what} holds {_short(value)}; texts, finite numbers, and lists and fields of them are taken")


def dumps(value: Any) -> str:
    """Compact JSON with sorted keys, so that equal values have equal texts."""
    return _ORDERED.encode(value)


def _short(value: Any) -> str:
    """A short description of a value. Lists and objects are not printed, because deep nesting would fail."""
    if isinstance(value, list | dict):
        return f"a {'list' if isinstance(value, list) else 'JSON object'} of {len(value)}"
    return f"{type(value).__name__} {str(value)[:40]!r}"
