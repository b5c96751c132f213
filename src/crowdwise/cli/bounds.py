"""The options --at-least and --at-most: exit code 3 where a bound does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import ParameterError
from ..core.vocabulary import quote
from .options import option

if TYPE_CHECKING:
    from ..evaluation.bounds import Bound
    from ..evaluation.guarantee.estimand import Figure
    from ..evaluation.scores import Scores

BROKEN = 3
# Quantities that are shares, by the first word of --metric.
SHARES = ("share", "accuracy", "winrate")

AtLeast = Annotated[
    float | None,
    option(
        "Guarantee",
        "--at-least",
        "Exit with code 3 unless the lower end of the interval is at least X.",
        metavar="X",
    ),
]
AtMost = Annotated[
    float | None,
    option(
        "Guarantee", "--at-most", "Exit with code 3 unless the upper end of the interval is at most X.", metavar="X"
    ),
]
ScoresAtLeast = Annotated[
    list[str] | None,
    option(
        "Guarantee",
        "--at-least",
        "Exit with code 3 unless the lower end of the interval of a score is at least X; repeat for more.",
        metavar="SCORE=X",
    ),
]
ScoresAtMost = Annotated[
    list[str] | None,
    option(
        "Guarantee",
        "--at-most",
        "Exit with code 3 unless the upper end of the interval of a score is at most X; repeat for more.",
        metavar="SCORE=X",
    ),
]


def refuse_percent(metric: str, at_least: float | None, at_most: float | None) -> None:
    """Refuse a limit that no share can have, such as 95 for .95."""
    if metric.partition(":")[0].strip() not in SHARES:
        return
    for name, limit in (("--at-least", at_least), ("--at-most", at_most)):
        if limit is not None and not 0 <= limit <= 1:
            hint = f"; write {limit / 100:g} for {limit:g} %" if 1 < limit <= 100 else ""
            raise ParameterError(f"{name} {limit:g}: {metric} is a share between 0 and 1{hint}")


def figure_bounds(figure: Figure, at_least: float | None, at_most: float | None) -> list[Bound]:
    """Return the required bounds of an estimate."""
    from ..evaluation.bounds import bounds_of

    return bounds_of(
        figure.metric, figure.display_name, (figure.low, figure.high), at_least=at_least, at_most=at_most,
        level=figure.level,
    )  # fmt: skip


def parse_limits(at_least: Sequence[str] | None, at_most: Sequence[str] | None) -> list[tuple[str, str, float]]:
    """Return (score, "at_least" or "at_most", limit) of texts such as accuracy=.9."""
    out = []
    for name, texts in (("at_least", at_least), ("at_most", at_most)):
        for text in texts or ():
            score, equals, limit = text.partition("=")
            try:
                out.append((score.strip(), name, float(limit)))
            except ValueError:
                equals = ""
            if not equals or not score.strip():
                raise ParameterError(f"--{name.replace('_', '-')} takes SCORE=X, such as accuracy=.9, got {text!r}")
    return out


def score_bounds(scores: Scores, limits: list[tuple[str, str, float]]) -> list[Bound]:
    """Return the required bounds of scores."""
    from ..evaluation.bounds import bounds_of

    out: list[Bound] = []
    for name, side, limit in limits:
        if scores.scores.get(name) is None:
            names = [key for key, value in scores.scores.items() if value is not None]
            raise ParameterError(f"there is no score {name!r} here; there are {quote(names, 12)}")
        out += bounds_of(name, scores.NAMES.get(name, name), scores.intervals.get(name), **{side: limit})
    return out


def report(bounds: Sequence[Bound], values: dict[str, Any] | None = None) -> None:
    """Print the outcome of each bound, or add it to the values of --json."""
    if values is not None and bounds:
        values["bounds"] = [bound.to_dict() for bound in bounds]
    elif values is None:
        for bound in bounds:
            typer.echo(bound.sentence())


def exit_if_broken(bounds: Sequence[Bound]) -> None:
    """End the command with code 3 if a bound does not hold."""
    if not all(bound.holds for bound in bounds):
        raise typer.Exit(BROKEN)
