"""What is asked for: a share, an accuracy, a win rate, a mean, a difference; each is a score of the true class."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import ParameterError
from ...core.vocabulary import lookup, quote, spelt_like
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


# ----------------------------------------------------------------
# Figure: one number with its interval, what it rests on, and what the judge or the gold alone would have said.


@dataclass(frozen=True)
class Figure:
    """`value` with `low` and `high` (None: no interval can be given).

    `judge_alone` is what the verdicts say by themselves; `gold_only` (value, low, high) what the gold says without
    them. `labels_saved` is how many times as many gold labels would be needed without the verdicts for as narrow an
    interval; `r2` how much of the truth the verdicts explain. `checks` are the p-values (Holm) of gold being like the
    rest. `groups` holds a figure for each group, where asked for.
    """

    of: str
    people: str
    value: float
    low: float | None
    high: float | None
    level: float
    method: str
    sampling: str
    for_: str
    n_gold: int
    n_tasks: int
    who: str
    judge_alone: float | None = None
    gold_only: tuple[float, float, float] | None = None
    r2: float | None = None
    labels_saved: float | None = None
    checks: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    groups: dict[Any, Figure | str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        out = {name: value for name, value in asdict(self).items() if name not in ("groups", "for_")}
        out["for"], out["notes"] = self.for_, list(self.notes)
        if self.groups:
            out["groups"] = {
                str(name): found.to_dict() if isinstance(found, Figure) else {"reason": found}
                for name, found in self.groups.items()
            }
        return out

    def sentence(self) -> str:
        """One line for people."""
        if self.low is None or self.high is None:
            return (
                f"{self.people}: {short(self.value)} (a point without an interval: the sampling of the gold is unknown)"
            )
        tasks = "these" if self.for_ == "these" else "new"
        text = (
            f"{self.people}: {short(self.value)} [{short(self.low)}, {short(self.high)}] ({100 * self.level:g} %, "
            f"{tasks} tasks; {self.method} from {self.n_gold:,} gold labels and {self.n_tasks:,} verdicts)"
        )
        if self.judge_alone is not None:
            text += f"; the verdicts alone say {short(self.judge_alone)}"
        if self.gold_only is not None:
            text += (
                f", the gold alone {short(self.gold_only[0])} [{short(self.gold_only[1])}, {short(self.gold_only[2])}]"
            )
        if self.labels_saved is not None:
            known = "" if self.r2 is None else f" (R² {short(self.r2)})"
            text += f"; as narrow as {self.labels_saved:.1f} times as many gold labels{known}"
        return text


def short(value: float) -> str:
    """Three digits after the point, or as many as a larger number needs."""
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.1f}"
