"""Scores: the base class of the evaluations of all kinds of answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..core.registry import resolve


@dataclass(frozen=True)
class Table:
    """A table for display: title, header, and rows of text."""

    title: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, repr=False, kw_only=True)
class Scores:
    """Named scores with 95 % intervals. Every score is an attribute too: `evaluation.accuracy`.

    A subclass lists its metrics in `NAMES` and adds fields for whatever else it reports.

    Attributes:
        NAMES: Display name of each score by key, in display order.
        HEADLINE: Keys of the scores that methods are compared by; the first one ranks them (higher is better).
        UNIT: What is scored, in the singular.
        FLAT: Whether `to_dict` holds plain values and a separate entry "intervals".
        MISSING_INTERVAL: What `to_dict` holds for a score without an interval.
        n: Number of scored tasks (or other units).
        scores: Value of each score by key; None or NaN if it does not exist for these tasks.
        intervals: 95 % interval (low, high) by key; empty without resamples.
        truths_without_labels: Number of tasks with a known truth but without an estimate.
        n_gold_left_out: Number of tasks that were gold in the fit and are therefore not scored.
    """

    NAMES: ClassVar[Mapping[str, str]] = {}
    HEADLINE: ClassVar[tuple[str, ...]] = ()
    UNIT: ClassVar[str] = "task"
    FLAT: ClassVar[bool] = False
    MISSING_INTERVAL: ClassVar[Mapping[str, None]] = {}

    n: int
    scores: Mapping[str, float | None]
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    truths_without_labels: int = 0
    n_gold_left_out: int = 0

    def __getattr__(self, name: str) -> Any:
        """Return the score of this name."""
        if name in type(self).NAMES and name in self.scores:
            return self.scores[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        """Return the attributes, scores included."""
        return sorted({*super().__dir__(), *self.scores})

    @property
    def unit(self) -> str:
        """What is scored, in the singular."""
        return self.UNIT

    def rows(self) -> list[list[str]]:
        """Return name, value and 95 % interval of every score as text."""
        out = []
        for key, name in self.NAMES.items():
            value, interval = self.scores.get(key), self.intervals.get(key)
            if value is not None:
                ends = "–" if interval is None else f"{interval[0]:.4f} – {interval[1]:.4f}"
                out.append([name, "–" if math.isnan(value) else self.text(key, value), ends])
        return out

    def text(self, key: str, value: float) -> str:  # noqa: ARG002
        """Return the value of a score as `rows` shows it."""
        return f"{value:.4f}"

    def tables(self) -> list[Table]:
        """Return further tables, such as a confusion matrix."""
        return []

    def headline(self) -> dict[str, Any]:
        """Return the scores that methods are compared by; the first one ranks them (higher is better)."""
        return {key: self.scores[key] for key in self.HEADLINE if key in self.scores}

    def details(self) -> dict[str, Any]:
        """Return the further entries of `to_dict`."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        counts = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        if self.FLAT:
            return {"n": self.n, **self.scores, **self.details(), **counts, "intervals": dict(self.intervals)}
        scores = {key: {"value": finite_or_none(value), **self._ends(key)} for key, value in self.scores.items()}
        return {"n": self.n, **scores, **self.details(), **counts}

    def _ends(self, key: str) -> Mapping[str, float | None]:
        if key not in self.intervals:
            return self.MISSING_INTERVAL
        return dict(zip(("low", "high"), self.intervals[key], strict=True))

    def __repr__(self) -> str:
        parts = []
        for key, name in self.NAMES.items():
            value, interval = self.scores.get(key), self.intervals.get(key)
            if value is not None and not math.isnan(value):
                ends = "" if interval is None else f" ({interval[0]:.3f} – {interval[1]:.3f})"
                parts.append(f"{name} {value:.3f}{ends}")
        return f"{type(self).__name__}({self.n:,} {self.unit}{'s' * (self.n != 1)}: {'; '.join(parts)})"

    def _repr_html_(self) -> str:
        html: str = resolve("crowdwise.plots.notebook:evaluation_html")(self)
        return html


def finite_or_none(value: float | None) -> float | None:
    """Return the number, or None in place of NaN."""
    return None if value is None or math.isnan(value) else value


def values_and_intervals(ends: Mapping[str, tuple[float, float, float]]) -> dict[str, Any]:
    """Split (value, low, high) by key into the arguments `scores` and `intervals`; low is NaN without an interval."""
    return {
        "scores": {key: value for key, (value, _, _) in ends.items()},
        "intervals": {key: (low, high) for key, (_, low, high) in ends.items() if not math.isnan(low)},
    }
