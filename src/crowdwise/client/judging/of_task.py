"""Forms that depend on the task: rankings of its items, spans in its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.errors import ParameterError
from .form import Form, NoVerdict, each_once, listed, one_of

RANKING = (
    "The task holds numbered items. The verdict is a JSON list with the number of every item once, the best first, "
    "such as [2, 1, 3]."
)
SPANS = (
    'The verdict is a JSON list of all that is to be marked in the text, each as {{"text": ..., "label": ...}}: the '
    "words exactly as they stand in the text, and one of {classes}. Where the same words stand there more than once, "
    'add "nth": 1 for the first, 2 for the second. The verdict is [] if nothing is to be marked.'
)


def ranking(classes: tuple[str, ...], controls: dict[str, Any]) -> Form:  # noqa: ARG001
    """Items are named by numbers, because models may change long texts."""

    def at(payload: Mapping[str, Any]) -> Form:
        return Form("rankings", RANKING, _reader(items_of(payload)), bare=False)

    return Form("rankings", RANKING, _reader(()), bare=False, at=at, show=numbered)


def items_of(payload: Mapping[str, Any]) -> list[str]:
    """The items of a task by their names."""
    listed = payload.get("items")
    among = listed if isinstance(listed, list) else []
    items = [entry.get("id", entry.get("text")) if isinstance(entry, Mapping) else entry for entry in among]
    if len(items) < 2 or not all(isinstance(item, str) for item in items) or len(set(items)) < len(items):
        raise NoVerdict("the task has no list of two or more different items")
    return items


def numbered(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The task with its items as numbered lines."""
    listed = payload.get("items")
    if not isinstance(listed, list):
        return payload
    texts = [entry.get("text", entry.get("id")) if isinstance(entry, Mapping) else entry for entry in listed]
    return {**payload, "items": "\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1))}


def _reader(items: Sequence[str]) -> Callable[[Any], list[str]]:
    def one(value: Any) -> str:
        number = value if isinstance(value, int) and not isinstance(value, bool) else None
        if number is not None and 1 <= number <= len(items):
            return items[number - 1]
        if isinstance(value, str) and value in items:
            if value.isdecimal() and int(value) != items.index(value) + 1:
                raise NoVerdict(f"{value!r} may be an item's number or its name")
            return value
        raise NoVerdict(f"names no item: {str(value)[:60]!r}")

    def read(value: Any) -> list[str]:
        ranked = each_once(value, one, "names an item twice")
        if len(ranked) < len(items):
            raise NoVerdict(f"names {len(ranked)} of {len(items)} items")
        return ranked

    return read


def spans(classes: tuple[str, ...], controls: dict[str, Any]) -> Form:  # noqa: ARG001
    """Spans are named by their words, because models quote better than they count."""
    if not classes:
        raise ParameterError("a judge of spans needs the labels of spans; name them: --classes a,b")
    instruct = SPANS.format(classes=listed(classes))

    def at(payload: Mapping[str, Any]) -> Form:
        text = payload.get("text")
        if not isinstance(text, str) or not text:
            raise NoVerdict("the task has no text to mark")
        return Form("spans", instruct, _marker(text, classes), bare=False)

    return Form("spans", instruct, _marker("", classes), bare=False, at=at)


def _marker(text: str, classes: tuple[str, ...]) -> Callable[[Any], list[dict[str, Any]]]:
    label = one_of(classes)

    def one(value: Any) -> tuple[int, int, str]:
        if not isinstance(value, Mapping):
            raise NoVerdict("a span is no JSON object")
        words, name = value.get("text"), label(value.get("label"))
        if not isinstance(words, str) or not words:
            raise NoVerdict("a span without its words")
        places = _places(text, words)
        nth = value.get("nth")
        if not places:
            raise NoVerdict(f"marks words that the text does not have: {words[:60]!r}")
        if nth is None and len(places) > 1:
            raise NoVerdict(f"marks {words[:60]!r}, which stands there {len(places)} times, and does not say which")
        if nth is None:
            nth = 1
        if not isinstance(nth, int) or isinstance(nth, bool) or not 1 <= nth <= len(places):
            raise NoVerdict(f"marks {words[:60]!r} number {str(nth)[:20]}; it stands there {len(places)} times")
        return places[nth - 1], places[nth - 1] + len(words), name

    def read(value: Any) -> list[dict[str, Any]]:
        spans = sorted(each_once(value, one, "marks a span twice"))
        return [{"start": start, "end": end, "label": name} for start, end, name in spans]

    return read


def _places(text: str, words: str) -> list[int]:
    """The positions of these words in the text; only those at word boundaries, if there are any."""
    starts, at = list[int](), text.find(words)
    while at >= 0:
        starts.append(at)
        at = text.find(words, at + 1)
    whole = [at for at in starts if not _inside(text, at) and not _inside(text, at + len(words))]
    return whole or starts


def _inside(text: str, at: int) -> bool:
    """Whether this position is within a word."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()
