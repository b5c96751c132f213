"""The form of an answer: instructions for a judge, and strict parsing of its output.

A verdict is JSON ({"verdict": ..., "confidence": ...}, alone or as the only content of a code fence) or, if that is
unambiguous, the bare name of one class. Any other output gives a reason instead of an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...core.side_tables import as_share

T = TypeVar("T")
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?```\Z", re.DOTALL)
_AROUND = " \t\r\n\"'`*."


class NoVerdict(ValueError):
    """The output has no verdict; the message is the reason."""


@dataclass(frozen=True)
class Form:
    """`instruct` are the instructions for the judge; `read` converts a value to an answer or raises NoVerdict."""

    kind: str
    instruct: str
    read: Callable[[Any], Any]
    bare: bool = True  # whether an answer without JSON is accepted
    at: Callable[[Mapping[str, Any]], Form] | None = None  # the form for a task, if it depends on the task
    show: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda payload: payload  # the task as it is shown

    def of(self, payload: Mapping[str, Any]) -> Form:
        """The form of the answer to this task; NoVerdict if the task cannot be answered."""
        return self if self.at is None else self.at(payload)

    def parse(self, text: str) -> tuple[Any, float | None]:
        """The answer and the stated confidence, if any."""
        inner = _FENCE.match(text.strip())
        whole = (inner[1] if inner else text).strip()
        if whole.startswith(("{", "[")):
            return self._json(whole)
        if not self.bare:
            raise NoVerdict("no JSON")
        return self.read(whole.strip(_AROUND)), None

    def takes(self, value: Any) -> bool:
        """Whether this is an answer of this form."""
        try:
            self.read(value)
        except NoVerdict:
            return False
        return True

    def _json(self, text: str) -> tuple[Any, float | None]:
        try:
            body = json.loads(text, object_pairs_hook=_once)
        except NoVerdict:
            raise
        except (ValueError, RecursionError):
            raise NoVerdict("malformed JSON") from None
        if not isinstance(body, dict):
            raise NoVerdict("JSON without a verdict")
        named = [name for name in ("verdict", "answer", "label") if name in body]
        if len(named) != 1:
            raise NoVerdict("JSON with several verdicts" if named else "JSON without a verdict")
        if body[named[0]] is None:
            raise NoVerdict("the verdict is null")
        return self.read(body[named[0]]), as_share(body.get("confidence"))


def one_of(names: Sequence[str]) -> Callable[[Any], str]:
    """A reader of exactly one of these names, ignoring case if that is unambiguous."""
    exact = {name: name for name in names}
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(name.casefold().strip(), []).append(name)

    def read(value: Any) -> str:
        if isinstance(value, bool | int | float):
            value = json.dumps(value)
        if not isinstance(value, str):
            raise NoVerdict("the verdict is no text")
        if value in exact:
            return value
        same = folded.get(value.casefold().strip(), [])
        if len(same) == 1:
            return same[0]
        raise NoVerdict(f"names no class: {' '.join(value.split())[:60]!r}")

    return read


def each_once(value: Any, one: Callable[[Any], T], what: str) -> list[T]:
    """Read the entries of a list; `what` is the reason for NoVerdict if one is repeated."""
    if not isinstance(value, list):
        raise NoVerdict("the verdict is no list")
    entries = [one(entry) for entry in value]
    if len(set(entries)) < len(entries):
        raise NoVerdict(what)
    return entries


def listed(names: Sequence[str]) -> str:
    """Names as JSON strings."""
    return ", ".join(json.dumps(name, ensure_ascii=False) for name in names)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise NoVerdict("JSON with a key twice")
    return fields
