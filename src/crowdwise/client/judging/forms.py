"""The forms of all kinds of answers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ...core.errors import ParameterError
from ...core.registry import FORMER_KINDS
from .form import Form, NoVerdict, each_once, listed, one_of
from .of_task import ranking, spans


def form_of(kind: str, classes: Sequence[str] = (), controls: Mapping[str, Any] | None = None) -> Form:
    """The form of a kind of answers; `classes` and the other controls are the project's."""
    kind = FORMER_KINDS.get(kind, kind)  # an older server
    if kind not in FORMS:
        raise ParameterError(f"judges cannot answer {kind!r}; they can {', '.join(FORMS)}")
    return FORMS[kind](tuple(classes), dict(controls or {}))


def _choice(kind: str) -> Callable[[tuple[str, ...], dict[str, Any]], Form]:
    def make(classes: tuple[str, ...], controls: dict[str, Any]) -> Form:  # noqa: ARG001
        if len(classes) < 2:
            raise ParameterError("a judge needs two classes or more; name them: --classes a,b")
        order = " They stand in order, from the lowest to the highest." if kind == "ordered" else ""
        return Form(kind, f"The verdict is exactly one of {listed(classes)}.{order}", one_of(classes))

    return make


def _sets(classes: tuple[str, ...], controls: dict[str, Any]) -> Form:  # noqa: ARG001
    read = partial(each_once, one=one_of(classes), what="names a class twice")
    instruct = f"The verdict is a JSON list of all that apply of {listed(classes)}; [] if none does."
    return Form("sets", instruct, read, bare=False)


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
    "similarities": _pair("similarities", ("same", "different"), "Two things are shown, left and right."),
    "rankings": ranking,
    "spans": spans,
}
