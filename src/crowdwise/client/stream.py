"""Server-sent events: lines of text to events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    """`kind` is status, label, worker, stop, ...; `data` its JSON."""

    kind: str
    data: Any
    id: str = ""


def events_of(lines: Iterable[str]) -> Iterator[Event]:
    """Events as they are complete, without comments, which keep the connection alive.

    >>> list(events_of(["event: label", 'data: {"task": "t1"}', ""]))
    [Event(kind='label', data={'task': 't1'}, id='')]
    """
    kind, data, number = "message", list[str](), ""
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                kind = value
            elif name == "data":
                data.append(value)
            elif name == "id":
                number = value
            continue
        if data:
            yield Event(kind, _value("\n".join(data)), number)
        kind, data = "message", []


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
