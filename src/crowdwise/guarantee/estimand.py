"""What is asked for: a share, an accuracy, a win rate, a mean, a difference; each is a score of the true class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import ParameterError
from ..core.vocabulary import lookup, quote, spelt_like
from .verdicts import Verdicts

F8 = npt.NDArray[np.float64]
FORMS = "share:CLASS, accuracy, winrate[:CLASS], mean or difference:A,B"
TIES = ("tie", "draw", "equal", "both", "neither", "same")


@dataclass(frozen=True, eq=False)
class Estimand:
    """score[class], or None where it is whether the verdict is right (accuracy) or the value itself (numbers)."""

    name: str
    people: str
    score: F8 | None = None
    right: bool = False


def estimand(text: str, found: Verdicts) -> Estimand:
    """From its short form."""
    what, _, rest = text.partition(":")
    what, names = what.strip(), [part.strip() for part in rest.split(",") if part.strip()]
    numbers = found.value is not None
    if what == "mean" and not names:
        score = None if numbers else _values(found.classes)
        return Estimand("mean", "mean", score)
    if numbers:
        raise ParameterError(f"of numbers only the mean can be estimated, not {text!r}")
    if what == "accuracy" and not names:
        return Estimand("accuracy", "accuracy", right=True)
    if what == "share" and len(names) == 1:
        code = _class(rest.strip(), found.classes)
        return Estimand(f"share:{rest.strip()}", f'share of "{rest.strip()}"', np.eye(len(found.classes))[code])
    if what == "winrate" and len(names) <= 1:
        return _winrate(names, found.classes)
    if what == "difference" and len(names) == 2:
        first, second = (_class(name, found.classes) for name in names)
        score = np.zeros(len(found.classes))
        score[first], score[second] = 1.0, -1.0
        return Estimand(text, f'difference of "{names[0]}" and "{names[1]}"', score)
    raise ParameterError(f"what to estimate must be {FORMS}, got {text!r}")


def _winrate(names: list[str], classes: pl.Series) -> Estimand:
    """1 for the winner, half for a tie, 0 for any other; without a name the first class that is no tie."""
    written = classes.cast(pl.String).to_list()
    ties = np.array([str(name).lower() in TIES for name in written])
    if not names and ties.all():
        raise ParameterError("a win rate needs the winner's class: winrate:CLASS")
    winner = _class(names[0], classes) if names else int(np.argmin(ties))
    score = np.where(ties, 0.5, 0.0)
    score[winner] = 1.0
    return Estimand(f"winrate:{written[winner]}", f'win rate of "{written[winner]}"', score)


def _class(name: str, classes: pl.Series) -> int:
    code, known = lookup(classes, spelt_like(pl.Series([name]), classes))
    if not known[0]:
        raise ParameterError(f"there is no class {name!r}; there are {quote(classes.to_list(), 8)}")
    return int(code[0])


def _values(classes: pl.Series) -> F8:
    values: Any = classes.cast(pl.String).cast(pl.Float64, strict=False)
    if values.null_count() or not len(values):
        raise ParameterError(f"a mean needs classes that are numbers; these are {quote(classes.to_list(), 8)}")
    return np.asarray(values.to_numpy(), dtype=float)
