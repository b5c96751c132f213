"""Kinds of answers: validation of their JSON form, and their code for the online model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .config import Config
from .pair_sides import SIDES, has_side
from .problems import Problem
from .serialization import dumps

Payload = Mapping[str, Any]
Check = Callable[[Any, Payload], Any]
MOST_SPANS = 2_000
LARGEST = 10**15
BETTER = (*SIDES, "tie")
SAME = ("same", "different")


@dataclass(frozen=True)
class AnswerKind:
    """`check(answer, payload)` returns the answer in canonical form, or raises a Problem; `code` is its class or 0;
    `looks`: `check` needs the payload of the task; `task` checks payloads of tasks."""

    check: Check
    code: Callable[[Any], int]
    looks: bool = False
    task: Callable[[Payload], None] = lambda _: None


def kind_of(config: Config) -> AnswerKind:
    """The kind of a project's answers."""
    place = {name: code for code, name in enumerate(config.classes)}
    if config.sure:
        return AnswerKind(lambda answer, _: _one_of(answer, config.classes), place.__getitem__)
    check: Check = {
        "sets": lambda answer, _: _set(answer, config.classes),
        "numbers": lambda answer, _: _number(answer, config.low, config.high),
        "comparisons": lambda answer, _: _one_of(answer, BETTER),
        "similarities": lambda answer, _: _one_of(answer, SAME),
        "rankings": _ranking,
        "spans": lambda answer, payload: _spans(answer, payload, config.classes),
    }[config.kind]
    return AnswerKind(check, lambda _: 0, config.kind in ("rankings", "spans"), _TASKS.get(config.kind, lambda _: None))


def _one_of(answer: Any, classes: tuple[str, ...]) -> str:
    if not isinstance(answer, str) or answer not in classes:
        some = ", ".join(classes[:12]) + (", ..." if len(classes) > 12 else "")
        raise Problem(422, f"answer {_short(answer)} is none of {some}")
    return answer


def _set(answer: Any, classes: tuple[str, ...]) -> list[str]:
    if not isinstance(answer, list):
        raise Problem(422, f"answer must be a list of classes, got {_short(answer)}")
    for class_ in answer:
        _one_of(class_, classes)
    return [class_ for class_ in classes if class_ in answer]


def _number(answer: Any, low: float | None, high: float | None) -> float:
    # Python integers are unbounded, so they are compared before conversion to float.
    if isinstance(answer, int) and not isinstance(answer, bool) and abs(answer) > LARGEST:
        raise Problem(422, f"answer {_short(answer)} is too large")
    if isinstance(answer, bool) or not isinstance(answer, int | float) or not math.isfinite(answer):
        raise Problem(422, f"answer must be a number, got {_short(answer)}")
    if abs(answer) > LARGEST:
        raise Problem(422, f"answer {answer:g} is too large")
    if (low is not None and answer < low) or (high is not None and answer > high):
        raise Problem(422, f"answer {answer:g} does not lie between {low} and {high}")
    return float(answer)


def _ranking(answer: Any, payload: Payload) -> list[str]:
    items = payload["items"]
    if not isinstance(answer, list) or not all(isinstance(entry, str) for entry in answer):
        raise Problem(422, f"answer must be a list of items, best first, got {_short(answer)}")
    if sorted(answer) != sorted(items):
        raise Problem(422, f"answer must name each of the {len(items)} items once: {', '.join(items)[:200]}")
    return answer


def _spans(answer: Any, payload: Payload, classes: tuple[str, ...]) -> list[dict[str, Any]]:
    text = payload["text"]
    if not isinstance(answer, list) or len(answer) > MOST_SPANS:
        raise Problem(422, f"answer must be a list of at most {MOST_SPANS} spans, got {_short(answer)}")
    out = []
    for span in answer:
        if not isinstance(span, dict) or set(span) != {"start", "end", "label"}:
            raise Problem(422, f"a span has start, end and label, got {_short(span)}")
        start, end = span["start"], span["end"]
        if any(isinstance(x, bool) or not isinstance(x, int) for x in (start, end)) or not 0 <= start < end <= len(
            text
        ):
            raise Problem(422, f"a span goes from {start!r} to {end!r}; the text has {len(text)} characters")
        out.append({"start": start, "end": end, "label": _one_of(span["label"], classes)})
    out.sort(key=lambda span: (span["start"], span["end"], span["label"]))
    if len({dumps(span) for span in out}) != len(out):
        raise Problem(422, "a span is given twice")
    return out


def _has_sides(payload: Payload) -> None:
    for side in SIDES:
        if payload.get(side) is not None and not isinstance(payload[side], str):
            raise Problem(422, f"the side {side} must be a text, got {_short(payload[side])}")
        if not has_side(payload, side):
            both = "texts (left, right) or pictures (left_image, right_image)"
            raise Problem(422, f"a task of two sides needs {both}; {side} is missing")


def _has_items(payload: Payload) -> None:
    items = payload.get("items")
    if not isinstance(items, list) or not 2 <= len(items) <= 50 or not all(isinstance(i, str) and i for i in items):
        raise Problem(422, "a task of a ranking needs the field items, a list of 2 to 50 texts")
    if len(set(items)) != len(items):
        raise Problem(422, "an item stands twice in a task")


def _has_text(payload: Payload) -> None:
    if not isinstance(payload.get("text"), str) or not payload["text"].strip():
        raise Problem(422, "a task with spans needs the field text")


_TASKS: dict[str, Callable[[Payload], None]] = {
    "comparisons": _has_sides,
    "similarities": _has_sides,
    "rankings": _has_items,
    "spans": _has_text,
}


def _short(value: Any) -> str:
    try:
        text = str(value)
    except (ValueError, RecursionError):  # more digits than Python prints, or nested too deep
        text = type(value).__name__
    return repr(text[:40] + "..." if len(text) > 40 else text)
