"""Studied: what a study of the workers gives, whatever kind of answers they gave."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, overload

import polars as pl

from ..core.errors import DataError
from ..core.result import Result
from ..core.votes import Votes
from ..evaluation.scores import Table
from .flags import NAMES, Coefficient, Flag, agreement_table, false_alarms_in_words, flag_table

if TYPE_CHECKING:
    from ..kinds.classes.annotations import Annotations
    from ..kinds.classes.workers.study import Study

# ----------------------------------------------------------------
# Who is best and who is worst, so that luck with a few labels leads neither list: by the ends of the intervals.
# The best are those whose skill is high for certain (its interval's lower end), the worst those whose skill is low
# for certain (its upper end). A worker with one label has a wide interval and is neither.


def best_first(table: pl.DataFrame, by: str = "skill") -> pl.DataFrame:
    """Workers with labels, the surest good ones first; `table` has n_labels, skill, skill_low and skill_high, or the
    like of what else they are ranked by."""
    return _seen(table).sort(f"{by}_low", by, descending=True, nulls_last=True, maintain_order=True)


def worst_first(table: pl.DataFrame, by: str = "skill") -> pl.DataFrame:
    """Workers with labels, the surest bad ones first."""
    return _seen(table).sort(f"{by}_high", by, nulls_last=True, maintain_order=True)


def best_and_worst(table: pl.DataFrame, limit: int, by: str = "skill") -> tuple[pl.DataFrame, pl.DataFrame]:
    """The first so many of both lists, nobody in two; all in the first where there are no more than twice that."""
    best = best_first(table, by)
    if len(best) <= 2 * limit:
        return best, best.clear()
    top = best.head(limit)
    rest = worst_first(table, by)
    return top, rest.filter(~rest["worker"].is_in(top["worker"].to_list())).head(limit)


def _seen(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("n_labels") > 0)


# ----------------------------------------------------------------
# Numbers about workers as people read them on a terminal.


def number(value: float | None, digits: int = 3) -> str:
    """0.731, or a dash where there is no number."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def between(low: float | None, high: float | None, digits: int = 3) -> str:
    """0.610 – 0.800, or nothing where there is no interval."""
    return "" if low is None or high is None else f"{number(low, digits)} – {number(high, digits)}"


def strength(probability: float | None, p_value: float | None) -> str:
    """How sure a flag is."""
    if probability is not None:
        return f"probability {probability:.3f}"
    return "" if p_value is None else f"p = {p_value:.2g}"


def some_of(shown: int, n: int) -> str:
    """Behind a title: how many of a long list are shown."""
    return f" ({shown} of {n:,})" if n > shown else ""


def amount(value: float | None, unit: float) -> str:
    """A number in somebody's own unit, of which `unit` is a usual spread: so many digits that differences are seen."""
    if value is None or not math.isfinite(value):
        return "–"
    if not (math.isfinite(unit) and 1e-6 < unit < 1e9) or abs(value) >= 1e12:
        return f"{value:.3g}"
    out = f"{value:,.{max(0, 2 - math.floor(math.log10(unit)))}f}"
    return out.removeprefix("-") if float(out.replace(",", "")) == 0 else out


def said(value: float) -> str:
    """A number as somebody gave it, to six digits."""
    return f"{value:,.6g}" if 1e-4 <= abs(value) < 1e9 or value == 0 else f"{value:.6g}"


def amounts(low: float | None, high: float | None, unit: float) -> str:
    """Two of them as an interval, or nothing."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"{amount(low, unit)} to {amount(high, unit)}"


# What a study says: tables, and sentences between them.
Block = Table | str


@dataclass(frozen=True, eq=False)
class Studied(ABC):
    """`quality` is a table with a row a worker (or a worker and part of the answers), `agreement` the crowd's
    coefficients, `flags` what to know about single workers, the most serious first.

    A kind writes `worker_tables` and, where it has more to tell, extends `files`, `to_dict` and `more`. `meanings` are
    its flags in words.
    """

    meanings: ClassVar[Mapping[str, str]] = NAMES
    votes: Votes[Any] = field(repr=False)
    result: Result = field(repr=False)
    quality: pl.DataFrame
    agreement: list[Coefficient]
    flags: list[Flag]

    @abstractmethod
    def worker_tables(self, ends: int) -> list[Table]:
        """All workers, or so many of the best and of the worst of many."""

    def more(self, shown: int) -> list[Block]:  # noqa: ARG002
        """What else there is to say after the flags."""
        return []

    def closing(self) -> str:
        """How many workers are flagged, and of how many too little is known."""
        told = [flag for flag in self.flags if flag.name != "unknown"]
        unknown = len(self.flags) - len(told)
        n = len({flag.worker for flag in told})
        start = "1 worker is flagged" if n == 1 else f"{n} workers are flagged"
        return start + self.closing_more() + f"; of {unknown} too little is known" * (unknown > 0)

    def closing_more(self) -> str:
        """What is counted besides flags."""
        return ""

    def files(self) -> dict[str, pl.DataFrame]:
        """The tables by the names of their files."""
        return {
            "quality.csv": self.quality,
            "agreement.csv": agreement_table(self.agreement),
            "flags.csv": flag_table(self.flags),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "method": self.result.method,
            "agreement": [c.to_dict() for c in self.agreement],
            "flags": [flag.to_dict() for flag in self.flags],
            "workers": self.quality.to_dicts(),
        }

    def blocks(self, shown: int, ends: int) -> list[Block]:
        """For a terminal: at most `shown` rows of each list, `ends` of the best and of the worst workers."""
        rows = [[c.name, number(c.value), between(c.low, c.high), c.reason or c.note or ""] for c in self.agreement]
        return [
            Table("Agreement", ["", "value", "95 % interval", ""], rows),
            *self.worker_tables(ends),
            *self._flag_blocks(shown),
            *self.more(shown),
            self.closing(),
        ]

    def _flag_blocks(self, shown: int) -> list[Block]:
        flags = [flag for flag in self.flags if flag.name != "unknown"]
        if not flags:
            return []
        rows = [[str(f.worker), f.name, strength(f.probability, f.p_value), f.evidence] for f in flags[:shown]]
        title = f"Flags{some_of(shown, len(flags))}"
        out: list[Block] = [Table(title, ["worker", "flag", "strength", "evidence"], rows)]
        rates = [(name, false_alarms_in_words(name, of)) for name, of in sorted({(f.name, f.of) for f in flags})]
        told = [f"{name} {rate}" for name, rate in rates if rate]
        return out + [f"false alarms, as measured in simulated crowds: {'; '.join(told)}"] * bool(told)


@overload
def study(votes: Annotations, result: Result, *, gold: Any = None, **options: Any) -> Study: ...


@overload
def study(votes: Votes[Any], result: Result, *, gold: Any = None, **options: Any) -> Studied: ...


def study(votes: Votes[Any], result: Result, *, gold: Any = None, **options: Any) -> Studied:
    """Quality, agreement and flags, for any kind of answers: what `Studied` has, and what the kind adds (see `Study`).

    `gold` adds how well workers do on known tasks; `options` are the kind's own (see `study_classes`).
    """
    if votes.kind is not result.kind:
        raise DataError(f"the result is of {result.kind.people}, the votes are {votes.kind.people}")
    found: Studied = result.kind.hooks.study(votes, result, gold=gold, **options)
    return found
