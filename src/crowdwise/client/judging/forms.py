"""The form of an answer: what a judge is asked to write, and how strictly it is read. Nothing is guessed.

A verdict is JSON ({"verdict": ..., "confidence": ...}, alone or as the only thing in a code fence) or, where that can
be told, the bare name of one class. Anything else has no answer but a reason.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.errors import ParameterError

_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?```\Z", re.DOTALL)
_AROUND = " \t\r\n\"'`*."


class NoVerdict(ValueError):
    """What was written holds no verdict; why."""


@dataclass(frozen=True)
class Form:
    """`instruct` tells the judge what to write, `read` makes an answer of a value, or raises NoVerdict."""

    kind: str
    instruct: str
    read: Callable[[Any], Any]
    bare: bool = True  # whether the bare answer, without JSON, can be told

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
            found = json.loads(text, object_pairs_hook=_once)
        except NoVerdict:
            raise
        except (ValueError, RecursionError):
            raise NoVerdict("malformed JSON") from None
        if not isinstance(found, dict):
            raise NoVerdict("JSON without a verdict")
        named = [name for name in ("verdict", "answer", "label") if name in found]
        if len(named) != 1:
            raise NoVerdict("JSON with several verdicts" if named else "JSON without a verdict")
        if found[named[0]] is None:
            raise NoVerdict("the verdict is null")
        return self.read(found[named[0]]), _confidence(found.get("confidence"))


def form_of(kind: str, classes: Sequence[str] = (), controls: Mapping[str, Any] | None = None) -> Form:
    """The form of a kind of answers; `classes` and the other controls are the project's."""
    if kind not in FORMS:
        raise ParameterError(f"judges cannot answer {kind!r} yet; they can {', '.join(FORMS)}")
    return FORMS[kind](tuple(classes), dict(controls or {}))


def one_of(names: Sequence[str]) -> Callable[[Any], str]:
    """A reader of exactly one of these names; case does not matter unless it must."""
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


def _choice(kind: str) -> Callable[[tuple[str, ...], dict[str, Any]], Form]:
    def make(classes: tuple[str, ...], controls: dict[str, Any]) -> Form:  # noqa: ARG001
        if len(classes) < 2:
            raise ParameterError("a judge needs two classes or more; name them: --classes a,b")
        shown = ", ".join(json.dumps(each, ensure_ascii=False) for each in classes)
        order = " They stand in order, from the lowest to the highest." if kind == "ordered" else ""
        return Form(kind, f"The verdict is exactly one of {shown}.{order}", one_of(classes))

    return make


def _sets(classes: tuple[str, ...], controls: dict[str, Any]) -> Form:  # noqa: ARG001
    read_one = one_of(classes)

    def read(value: Any) -> list[str]:
        if not isinstance(value, list):
            raise NoVerdict("the verdict is no list")
        found = [read_one(each) for each in value]
        if len(set(found)) < len(found):
            raise NoVerdict("names a class twice")
        return found

    shown = ", ".join(json.dumps(each, ensure_ascii=False) for each in classes)
    return Form("sets", f"The verdict is a JSON list of all that apply of {shown}; [] if none does.", read, bare=False)


def _numbers(classes: tuple[str, ...], controls: dict[str, Any]) -> Form:  # noqa: ARG001
    low, high = controls.get("low"), controls.get("high")

    def read(value: Any) -> float:
        try:
            number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise NoVerdict(f"no number: {str(value)[:40]!r}")
        if (low is not None and number < low) or (high is not None and number > high):
            raise NoVerdict(f"{number:g} lies outside {low} to {high}")
        return number

    ends = [f"at least {low}" if low is not None else "", f"at most {high}" if high is not None else ""]
    within = ", " + " and ".join(filter(None, ends)) if any(ends) else ""
    return Form("numbers", f"The verdict is a number{within}.", read)


def _pair(kind: str, names: tuple[str, ...], text: str) -> Callable[[tuple[str, ...], dict[str, Any]], Form]:
    def make(classes: tuple[str, ...], controls: dict[str, Any]) -> Form:  # noqa: ARG001
        tie = controls.get("tie", True)
        allowed = tuple(name for name in names if name != "tie" or tie)
        shown = ", ".join(json.dumps(name) for name in allowed)
        return Form(kind, f"{text} The verdict is exactly one of {shown}.", one_of(allowed))

    return make


FORMS: dict[str, Callable[[tuple[str, ...], dict[str, Any]], Form]] = {
    "classes": _choice("classes"),
    "ordered": _choice("ordered"),
    "sets": _sets,
    "numbers": _numbers,
    "comparisons": _pair("comparisons", ("left", "right", "tie"), "Two things are shown, left and right."),
    "same": _pair("same", ("same", "different"), "Two things are shown, left and right."),
}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NoVerdict("JSON with a key twice")
    return found


def _confidence(value: Any) -> float | None:
    """Between 0 and 1, or nothing: a verdict is not thrown away for an odd confidence."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if good else None
