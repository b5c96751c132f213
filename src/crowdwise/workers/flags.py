"""Flags of workers with their strength, evidence and example tasks, and agreement coefficients."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.votes import Votes

# ---------------------------------------------------------------- A coefficient of agreement with its interval


@dataclass(frozen=True)
class Coefficient:
    """An agreement coefficient.

    Attributes:
        name: Name of the coefficient.
        value: Value in -1..1, or None.
        low: Low end of the 95 % interval.
        high: High end of the 95 % interval.
        n: Number of tasks (for means over pairs: of pairs of workers) that it is based on.
        reason: Why there is no value.
        note: A caution.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str | None = None
    note: str | None = None

    @classmethod
    def of_interval(cls, name: str, ends: tuple[float, float, float], n: int, undefined: str) -> Self:
        """Build a coefficient from (value, low, high); `undefined` is the reason if the value is NaN."""
        value, low, high = ends
        if not np.isfinite(value):
            return cls(name, None, n=n, reason=undefined)
        if not (np.isfinite(low) and np.isfinite(high)):
            return cls(name, value, n=n, note="too few tasks for an interval")
        return cls(name, value, min(low, value), max(high, value), n)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return dict(vars(self))


# ---------------------------------------------------------------- Coefficients of agreement as a table


def agreement_table(coefficients: list[Coefficient]) -> pl.DataFrame:
    """Return the coefficients as a table: name, value, low, high, n, reason, note."""
    kinds = {"name": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64,
             "reason": pl.String, "note": pl.String}  # fmt: skip
    return pl.DataFrame([c.to_dict() for c in coefficients], schema=kinds)


# Names of flags and their meaning.
NAMES = {
    "constant": "gives one class whatever the task",
    "random": "guesses: the labels do not follow the truth",
    "uninformative": "shares no signal with any other worker (cross-covariance)",
    "adversarial": "right less often than guessing would be",
    "colluding": "gives the same wrong answers as others, beyond what independent errors explain",
    "copying": "answers as another worker does, beyond what independent errors explain",
    "outlier": "agrees with the others in a way that no independent worker would",
    "drift": "accuracy changed over time",
    "unknown": "too few labels to judge",
    "coachable": "steadily confuses two classes, or is right far less often than the crowd: feedback may help",
}
# Workers with one of these flags are removed by `drop_flagged` by default: their labels are useless or misleading.
REMOVED = ("constant", "random", "uninformative", "colluding")
# Maximum number of tasks named in a flag.
EXAMPLES = 50
# False alarms of each flag among honest workers in simulated crowds, from `python -m benchmarks.workers.false_alarms`.
RATES = Path(__file__).with_name("false_alarms.json")


@dataclass(frozen=True)
class Flag:
    """A finding about a worker.

    Attributes:
        worker: The worker.
        name: Name of the flag.
        probability: Probability that it is true, if the flag comes from a posterior.
        p_value: p-value adjusted for the number of tests, if the flag comes from a test. An `unknown` flag has neither.
        evidence: The evidence in words.
        tasks: Tasks that show it, most telling first.
        partners: Other workers involved.
        of: Kind of the answers; false alarms are counted by kind.
    """

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
        """Share of honest workers with this flag in simulated crowds without copying or guessing."""
        flagged, honest = false_alarms(self.name, self.of)
        return None if flagged is None else flagged / honest

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        lists = {"tasks": list(self.tasks), "partners": list(self.partners)}
        fields = {name: value for name, value in vars(self).items() if name != "of"}
        return {**fields, "false_alarms": self.false_alarms, **lists}


def rates_of(kind: str) -> Path:
    """Return the file with the false alarm rates of a kind of answers."""
    return RATES if kind == "classes" else RATES.with_name(f"false_alarms_{kind}.json")


@cache
def _rates(kind: str) -> dict[str, Any]:
    path = rates_of(kind)
    none = {"flagged": {}, "honest": 0}
    rates: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else none
    return rates


def false_alarms(name: str, kind: str = "classes") -> tuple[int | None, int]:
    """Return how many honest workers got this flag in independent crowds (None: not measured), and out of how many.

    >>> flagged, honest = false_alarms("copying")
    >>> flagged / honest < 0.001
    True
    """
    return _rates(kind)["flagged"].get(name), int(_rates(kind)["honest"])


def false_alarms_in_words(name: str, kind: str = "classes") -> str:
    """Return the false alarms as text, "3 of 20,000 honest workers", or ""."""
    flagged, honest = false_alarms(name, kind)
    return "" if flagged is None else f"{flagged} of {honest:,} honest workers"


def examples(votes: Votes[Any], tasks: npt.NDArray[Any]) -> tuple[Any, ...]:
    """Return the names of the first few of these tasks without duplicates."""
    first = np.sort(np.unique(tasks, return_index=True)[1])[:EXAMPLES]
    return tuple(votes.tasks.gather(tasks[first]).to_list())


def flag_table(flags: Iterable[Flag]) -> pl.DataFrame:
    """Return one row per flag.

    Columns: worker, flag, probability, p_value, false_alarms (share of honest workers with this flag in simulated
    crowds), evidence, partners, tasks (both as text, separated by commas).
    """
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
