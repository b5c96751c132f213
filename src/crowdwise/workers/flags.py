"""Flag: one thing to know about one worker, with its strength, the evidence in words and the tasks behind it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.votes import Votes

# ---------------------------------------------------------------- A coefficient of agreement with its interval


@dataclass(frozen=True)
class Coefficient:
    """One coefficient: value in -1..1 with its 95 % interval, or None and the `reason`; `note` is a caution.

    `n` is the number of tasks (of pairs of workers, for means over pairs) behind it.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str | None = None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


# ---------------------------------------------------------------- Coefficients of agreement as a table


def agreement_table(found: list[Coefficient]) -> pl.DataFrame:
    """The coefficients as a table: name, value, low, high, n, reason, note."""
    kinds = {"name": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64,
             "reason": pl.String, "note": pl.String}  # fmt: skip
    return pl.DataFrame([c.to_dict() for c in found], schema=kinds)


# What a flag can be called, and what it means for people.
NAMES = {
    "constant": "says one class whatever the task",
    "random": "guesses: the labels do not follow the truth",
    "uninformative": "shares no signal with anybody (cross-covariance)",
    "adversarial": "right less often than guessing would be",
    "colluding": "gives the same wrong answers as others, beyond what independent errors explain",
    "copying": "answers as another worker does, beyond what independent errors explain",
    "outlier": "agrees with the others in a way that no independent worker would",
    "drift": "accuracy changed over time",
    "unknown": "too few labels to say anything",
    "coachable": "takes one class for another steadily, or is right far less often than the crowd: a word may help",
}
# Who has one of these is left out by `drop_flagged` unless told otherwise: their labels tell nothing or mislead.
REMOVED = ("constant", "random", "uninformative", "colluding")
# Tasks named in a flag at most.
EXAMPLES = 50
# How many honest workers get each flag in independent crowds: made by `python -m benchmarks.workers.false_alarms`.
RATES = Path(__file__).with_name("false_alarms.json")


@dataclass(frozen=True)
class Flag:
    """`probability` of the accusation, or `p_value` adjusted for the number of tests; `tasks` show it, most telling
    first; `partners` are the other workers it is about. An `unknown` flag has neither number. `of` is the kind of
    answers that it was read off: false alarms are counted by kind."""

    worker: Any
    name: str
    probability: float | None = None
    p_value: float | None = None
    evidence: str = ""
    tasks: tuple[Any, ...] = ()
    partners: tuple[Any, ...] = ()
    of: str = "classes"

    @property
    def false_alarms(self) -> float | None:
        """The share of honest workers who got this flag in simulated crowds where nobody copied or guessed."""
        flagged, honest = false_alarms(self.name, self.of)
        return None if flagged is None else flagged / honest

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        lists = {"tasks": list(self.tasks), "partners": list(self.partners)}
        own = {name: value for name, value in vars(self).items() if name != "of"}
        return {**own, "false_alarms": self.false_alarms, **lists}


def rates_of(kind: str) -> Path:
    """The file with the rates of a kind of answers."""
    return RATES if kind == "classes" else RATES.with_name(f"false_alarms_{kind}.json")


@cache
def _rates(kind: str) -> dict[str, Any]:
    path = rates_of(kind)
    none = {"flagged": {}, "honest": 0}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else none
    return found


def false_alarms(name: str, kind: str = "classes") -> tuple[int | None, int]:
    """How many honest workers got the flag of this name in independent crowds (None: not measured), of how many.

    >>> flagged, honest = false_alarms("copying")
    >>> flagged / honest < 0.001
    True
    """
    return _rates(kind)["flagged"].get(name), int(_rates(kind)["honest"])


def false_alarms_in_words(name: str, kind: str = "classes") -> str:
    """The same for people: "3 of 20,000 honest workers", or nothing."""
    flagged, honest = false_alarms(name, kind)
    return "" if flagged is None else f"{flagged} of {honest:,} honest workers"


def examples(votes: Votes[Any], tasks: npt.NDArray[Any]) -> tuple[Any, ...]:
    """The names of the first few of these tasks, each once."""
    first = np.sort(np.unique(tasks, return_index=True)[1])[:EXAMPLES]
    return tuple(votes.tasks.gather(tasks[first]).to_list())


def flag_table(flags: Iterable[Flag]) -> pl.DataFrame:
    """One row a flag: worker, flag, probability, p_value, false_alarms (the share of honest workers who got it in
    simulated crowds), evidence, partners, tasks (both as text, by commas)."""
    flags = list(flags)
    return pl.DataFrame(
        {
            "worker": pl.Series([f.worker for f in flags], dtype=None if flags else pl.String),
            "flag": pl.Series([f.name for f in flags], dtype=pl.String),
            "probability": pl.Series([f.probability for f in flags], dtype=pl.Float64),
            "p_value": pl.Series([f.p_value for f in flags], dtype=pl.Float64),
            "false_alarms": pl.Series([f.false_alarms for f in flags], dtype=pl.Float64),
            "evidence": pl.Series([f.evidence for f in flags], dtype=pl.String),
            "partners": pl.Series([", ".join(map(str, f.partners)) for f in flags], dtype=pl.String),
            "tasks": pl.Series([", ".join(map(str, f.tasks)) for f in flags], dtype=pl.String),
        }
    )
