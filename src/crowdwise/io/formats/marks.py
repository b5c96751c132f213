"""Spans as tools write them: offsets of code units or code points, columns of B-, I- and O, as one JSON an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

# O, or the part of a span that a token is, and the span's tag: B-PER, I-PER, E-PER, S-PER; also a bare B or I.
TAG = re.compile(r"O|(?P<part>[BIESLU])(?:-(?P<tag>\S+))?")
MISSING = ("?", "_", "")
Mark = tuple[int, int, str]


def as_answer(marks: Iterable[Sequence[Any]]) -> str:
    """One answer as JSON, as the column `spans` has it."""
    return json.dumps(
        [list(mark) if len(mark) < 3 or mark[2] else list(mark[:2]) for mark in marks], ensure_ascii=False
    )


def is_span(value: Any) -> bool:
    """Whether this is a mapping or a list with a start and an end."""
    if isinstance(value, dict):
        return ("start" in value and "end" in value) or ("start_offset" in value and "end_offset" in value)
    return isinstance(value, list | tuple) and len(value) in (2, 3) and all(type(each) is int for each in value[:2])


def mark_of(value: Any) -> list[Any]:
    """[start, end, tag] of a mapping or list; what it lacks is for the coder to refuse."""
    if not isinstance(value, dict):
        return list(value)
    start, end = (value.get(key, value.get(f"{key}_offset")) for key in ("start", "end"))
    tag = value.get("label") or value.get("labels") or value.get("tag") or ""
    return [start, end, tag]


def code_points(text: str | None, start: int, end: int, said: str | None) -> tuple[int, int]:
    """Offsets of UTF-16 code units, as a browser counts, as offsets of code points.

    `said` is the marked text as the tool wrote it down: where it stands just there already, the offsets are right as
    they are (some versions count so).
    """
    if text is None or text.isascii() or (said is not None and text[start:end] == said):
        return start, end
    if all(ord(c) < 0x10000 for c in text):
        return start, end
    at = [0]
    for c in text:
        at.append(at[-1] + (2 if ord(c) > 0xFFFF else 1))
    place = {unit: point for point, unit in enumerate(at)}
    return place.get(start, place.get(start - 1, start)), place.get(end, place.get(end + 1, end))


def code_units(text: str | None, start: int, end: int) -> tuple[int, int]:
    """The way back: offsets of code points as a browser counts them."""
    if text is None or text.isascii():
        return start, end
    return tuple(at + sum(ord(c) > 0xFFFF for c in text[:at]) for at in (start, end))  # type: ignore[return-value]


def spans_of_tags(tags: Sequence[str], ends: Sequence[tuple[int, int]]) -> list[Mark]:
    """Tags of tokens (IOB1, IOB2, BIOES and the like) as spans; `ends` say where each token begins and ends.

    >>> spans_of_tags(["B-PER", "I-PER", "O", "B-LOC"], [(0, 3), (4, 7), (8, 10), (11, 16)])
    [(0, 7, 'PER'), (11, 16, 'LOC')]
    """
    out: list[Mark] = []
    going = ""
    for tag, (start, end) in zip(tags, ends, strict=True):
        found = TAG.fullmatch(tag)
        part, name = (found["part"], found["tag"] or "") if found else ("I", tag)
        if part is None:
            going = ""
            continue
        if part in "BSU" or going != f"{name}+":
            out.append((start, end, name))
        else:
            out[-1] = (out[-1][0], end, name)
        going = "" if part in "ESLU" else f"{name}+"
    return out


def tags_of_spans(marks: Iterable[Sequence[Any]], ends: Sequence[tuple[int, int]]) -> list[str]:
    """Spans as tags of tokens, B- and I-; a token belongs to a span that holds its middle."""
    out = ["O"] * len(ends)
    for mark in marks:
        start, end = mark[0], mark[1]
        tag = f"-{mark[2]}" if len(mark) > 2 and mark[2] else ""
        inside = [i for i, (a, b) in enumerate(ends) if 2 * start <= a + b - 1 < 2 * end]
        for i in inside:
            out[i] = f"{'B' if i == inside[0] else 'I'}{tag}"
    return out
