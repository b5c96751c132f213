"""What is estimated: a share, accuracy, win rate, mean or difference, each a score of the true class."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.errors import ParameterError
from ...core.vocabulary import lookup, quote, spelt_like
from .verdicts import Verdicts

FORMS = "share:CLASS, accuracy, winrate[:CLASS], mean or difference:A,B"
# The mean absolute error of numbers, and the score of kinds that have one.
ERROR, SCORE = "error", "score"
TIES = ("tie", "draw", "equal", "both", "neither", "same")


@dataclass(frozen=True, eq=False)
class Estimand:
    """score[class], or None for the accuracy (whether the verdict is right) and for numbers (the value itself)."""

    name: str
    display_name: str
    score: F8 | None = None
    right: bool = False


def estimand(text: str, verdicts: Verdicts) -> Estimand:
    """Parse the short form, such as "share:toxic"."""
    form, _, names_text = text.partition(":")
    form, names = form.strip(), [part.strip() for part in names_text.split(",") if part.strip()]
    numbers = verdicts.value is not None
    if verdicts.score_of is not None:
        if form == SCORE and not names:
            return Estimand(SCORE, verdicts.score_name)
        raise ParameterError(f"of these answers the score ({verdicts.score_name}) can be estimated, not {text!r}")
    if numbers and form == ERROR and not names:
        return Estimand(ERROR, "mean absolute error")
    if form == "mean" and not names:
        score = None if numbers else _values(verdicts.classes)
        return Estimand("mean", "mean", score)
    if numbers:
        raise ParameterError(f"of numbers the mean and the error (mean absolute error) can be estimated, not {text!r}")
    if form == "accuracy" and not names:
        return Estimand("accuracy", "accuracy", right=True)
    if form == "share" and len(names) == 1:
        code = _class(names_text.strip(), verdicts.classes)
        return Estimand(
            f"share:{names_text.strip()}", f'share of "{names_text.strip()}"', np.eye(len(verdicts.classes))[code]
        )
    if form == "winrate" and len(names) <= 1:
        return _winrate(names, verdicts.classes)
    if form == "difference" and len(names) == 2:
        first, second = (_class(name, verdicts.classes) for name in names)
        score = np.zeros(len(verdicts.classes))
        score[first], score[second] = 1.0, -1.0
        return Estimand(text, f'difference of "{names[0]}" and "{names[1]}"', score)
    raise ParameterError(f"what to estimate must be {FORMS}, got {text!r}")


def _winrate(names: list[str], classes: pl.Series) -> Estimand:
    """1 for the winner, 1/2 for a tie, 0 for any other class; without a name the winner is the first class that is no
    tie.
    """
    class_names = classes.cast(pl.String).to_list()
    ties = np.array([str(name).lower() in TIES for name in class_names])
    if not names and ties.all():
        raise ParameterError("a win rate needs the winner's class: winrate:CLASS")
    winner = _class(names[0], classes) if names else int(np.argmin(ties))
    score = np.where(ties, 0.5, 0.0)
    score[winner] = 1.0
    return Estimand(f"winrate:{class_names[winner]}", f'win rate of "{class_names[winner]}"', score)


def _class(name: str, classes: pl.Series) -> int:
    code, is_known = lookup(classes, spelt_like(pl.Series([name]), classes))
    if not is_known[0]:
        raise ParameterError(f"there is no class {name!r}; there are {quote(classes.to_list(), 8)}")
    return int(code[0])


def _values(classes: pl.Series) -> F8:
    values: Any = classes.cast(pl.String).cast(pl.Float64, strict=False)
    if values.null_count() or not len(values):
        raise ParameterError(f"a mean needs classes that are numbers; these are {quote(classes.to_list(), 8)}")
    return np.asarray(values.to_numpy(), dtype=float)


# ----------------------------------------------------------------
# Figure: an estimate with its interval, its basis, and the estimates from the judge or the gold alone.


# JSON keys of fields that have another name in Python.
KEYS = {"metric": "of", "display_name": "people", "judge": "who"}


@dataclass(frozen=True)
class Figure:
    """An estimate with its interval.

    Attributes:
        metric: Short form of what is estimated.
        display_name: What is estimated, in words.
        value: The estimate.
        low: Low end of the interval; None if no interval can be given.
        high: High end of the interval; None if no interval can be given.
        level: Level of the interval.
        method: Name of the estimator.
        sampling: How the gold was drawn.
        population: "these" tasks or "new" tasks of the same kind.
        n_gold: Number of gold labels.
        n_tasks: Number of tasks with verdicts.
        judge: Name of the judge or method.
        judge_alone: The estimate from the verdicts alone.
        gold_only: (value, low, high) from the gold alone.
        r2: Share of the variance of the truth that the verdicts explain.
        labels_saved: How many times as many gold labels would be needed without the verdicts for the same interval
            width.
        checks: p-values (Holm) for the gold tasks being like the others.
        notes: Notes for the reader.
        groups: The figure (or the reason why there is none) of each group.
    """

    metric: str
    display_name: str
    value: float
    low: float | None
    high: float | None
    level: float
    method: str
    sampling: str
    population: str
    n_gold: int
    n_tasks: int
    judge: str
    judge_alone: float | None = None
    gold_only: tuple[float, float, float] | None = None
    r2: float | None = None
    labels_saved: float | None = None
    checks: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    groups: dict[Any, Figure | str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        out = {KEYS.get(name, name): x for name, x in asdict(self).items() if name not in ("groups", "population")}
        out["for"], out["notes"] = self.population, list(self.notes)
        if self.groups:
            out["groups"] = {
                str(name): figure.to_dict() if isinstance(figure, Figure) else {"reason": figure}
                for name, figure in self.groups.items()
            }
        return out

    def sentence(self) -> str:
        """Return the figure as one line of text."""
        if self.low is None or self.high is None:
            return f"{self.display_name}: {short(self.value)} (no interval: it is unknown how the gold was sampled)"
        tasks = "these" if self.population == "these" else "new"
        text = (
            f"{self.display_name}: {short(self.value)} [{short(self.low)}, {short(self.high)}] "
            f"({100 * self.level:g} %, {tasks} tasks; {self.method} from {self.n_gold:,} gold labels and "
            f"{self.n_tasks:,} verdicts)"
        )
        if self.judge_alone is not None:
            text += f"; the verdicts alone say {short(self.judge_alone)}"
        if self.gold_only is not None:
            text += (
                f", the gold alone {short(self.gold_only[0])} [{short(self.gold_only[1])}, {short(self.gold_only[2])}]"
            )
        if self.labels_saved is not None:
            explained = "" if self.r2 is None else f" (R² {short(self.r2)})"
            text += f"; as narrow as {self.labels_saved:.1f} times as many gold labels{explained}"
        return text


def short(value: float) -> str:
    """Format with three digits after the point; larger numbers with one."""
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.1f}"
