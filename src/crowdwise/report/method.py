"""What was run, as the page tells it: name, summary, paper, parameters, what the method decided, versions."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from ..aggregate import registry
from ..core.result import Result
from . import charts
from .text import shown


def described(result: Result) -> dict[str, Any]:
    """The method in words and values."""
    card = registry.CARDS.get(result.method) or registry.LEARNERS.get(result.method)
    extra = [name for name in ("chosen", "reason", "temperature") if name in result.extra]
    return {
        "name": shown(result.method),
        "summary": "" if card is None else card.summary,
        "paper": "" if card is None else card.paper,
        "params": [(shown(name), _value(value)) for name, value in result.params.items()],
        "extra": [(name, shown(result.extra[name], 200)) for name in extra],
        "iterations": result.n_iter,
        "converged": result.converged,
        "versions": ", ".join(f"{shown(name)} {shown(v, 30)}" for name, v in result.versions.items()),
    }


def trace(result: Result) -> Markup:
    """The objective by iteration, where there are iterations to draw."""
    if len(result.trace) < 3:
        return Markup("")
    series = [("objective", list(range(1, len(result.trace) + 1)), result.trace.tolist())]
    return charts.curves(series, "iteration", "The method's objective by iteration", width=420, height=200)


def _value(value: Any) -> str:
    """A parameter; a list without its brackets."""
    return shown(", ".join(map(str, value)) if isinstance(value, list | tuple) else value, 200)
