"""Spans in exports (offsets of code units or code points, columns of B-, I- and O) as one JSON value per answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

# O, or the token's part of a span and the span's tag: B-PER, I-PER, E-PER, S-PER; also B or I alone.
TAG = re.compile(r"O|(?P<part>[BIESLU])(?:-(?P<tag>\S+))?")
MISSING = ("?", "_", "")
Mark = tuple[int, int, str]


def as_answer(marks: Iterable[Sequence[Any]]) -> str:
    """Return one answer as JSON, as in the column `spans`."""
    return json.dumps(
        [list(mark) if len(mark) < 3 or mark[2] else list(mark[:2]) for mark in marks], ensure_ascii=False
    )


def is_span(value: Any) -> bool:
    """Whether this is a mapping or a list with a start and an end."""
    if isinstance(value, dict):
        return ("start" in value and "end" in value) or ("start_offset" in value and "end_offset" in value)
    return isinstance(value, list | tuple) and len(value) in (2, 3) and all(type(offset) is int for offset in value[:2])


def mark_of(value: Any) -> list[Any]:
    """Return [start, end, tag] of a mapping or list; the coder refuses missing parts."""
    if not isinstance(value, dict):
        return list(value)
    start, end = (value.get(key, value.get(f"{key}_offset")) for key in ("start", "end"))
    tag = value.get("label") or value.get("labels") or value.get("tag") or ""
    return [start, end, tag]


def code_points(text: str | None, start: int, end: int, marked_text: str | None) -> tuple[int, int]:
    """Convert offsets of UTF-16 code units, as browsers count, to offsets of code points.

    `marked_text` is the marked text that the tool stored: if it is found at these offsets, they count code points
    already, as in some versions.
    """
    if text is None or text.isascii() or (marked_text is not None and text[start:end] == marked_text):
        return start, end
    if all(ord(c) < 0x10000 for c in text):
        return start, end
    at = [0]
    for c in text:
        at.append(at[-1] + (2 if ord(c) > 0xFFFF else 1))
    point_of = {unit: point for point, unit in enumerate(at)}
    return point_of.get(start, point_of.get(start - 1, start)), point_of.get(end, point_of.get(end + 1, end))


def code_units(text: str | None, start: int, end: int) -> tuple[int, int]:
    """Convert offsets of code points to offsets of UTF-16 code units, the inverse of `code_points`."""
    if text is None or text.isascii():
        return start, end
    return tuple(at + sum(ord(c) > 0xFFFF for c in text[:at]) for at in (start, end))  # type: ignore[return-value]


def token_ends(tokens: Iterable[str]) -> list[tuple[int, int]]:
    """Return the start and the end of each token in a text of tokens that are separated by blanks."""
    ends, start = [], 0
    for token in tokens:
        ends.append((start, start + len(token)))
        start += len(token) + 1
    return ends


def spans_of_tags(tags: Sequence[str], ends: Sequence[tuple[int, int]]) -> list[Mark]:
    """Convert tags of tokens (IOB1, IOB2, BIOES, ...) to spans; `ends` holds the start and end of each token.

    >>> spans_of_tags(["B-PER", "I-PER", "O", "B-LOC"], [(0, 3), (4, 7), (8, 10), (11, 16)])
    [(0, 7, 'PER'), (11, 16, 'LOC')]
    """
    out: list[Mark] = []
    open_span = ""
    for tag, (start, end) in zip(tags, ends, strict=True):
        match = TAG.fullmatch(tag)
        part, name = (match["part"], match["tag"] or "") if match else ("I", tag)
        if part is None:
            open_span = ""
            continue
        if part in "BSU" or open_span != f"{name}+":
            out.append((start, end, name))
        else:
            out[-1] = (out[-1][0], end, name)
        open_span = "" if part in "ESLU" else f"{name}+"
    return out


def tags_of_spans(marks: Iterable[Sequence[Any]], ends: Sequence[tuple[int, int]]) -> list[str]:
    """Convert spans to tags of tokens, B- and I-; a token belongs to a span that contains its middle."""
    out = ["O"] * len(ends)
    for mark in marks:
        start, end = mark[0], mark[1]
        tag = f"-{mark[2]}" if len(mark) > 2 and mark[2] else ""
        inside = [i for i, (a, b) in enumerate(ends) if 2 * start <= a + b - 1 < 2 * end]
        for i in inside:
            out[i] = f"{'B' if i == inside[0] else 'I'}{tag}"
    return out
