"""Studied: base class of the worker studies of all kinds of answers, and helpers to rank workers and format numbers."""

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
# Best and worst workers by the ends of their intervals, so that luck with a few labels leads neither list.
# The best are ranked by the lower end of their skill's interval, the worst by the upper end. A worker with one label
# has a wide interval and is in neither list.


def best_first(table: pl.DataFrame, by: str = "skill") -> pl.DataFrame:
    """Return the workers with labels, best first by the lower end of the interval.

    `table` has n_labels and the columns skill, skill_low and skill_high, or those of another score `by`.
    """
    return _with_answers(table).sort(f"{by}_low", by, descending=True, nulls_last=True, maintain_order=True)


def worst_first(table: pl.DataFrame, by: str = "skill") -> pl.DataFrame:
    """Return the workers with labels, worst first by the upper end of the interval."""
    return _with_answers(table).sort(f"{by}_high", by, nulls_last=True, maintain_order=True)


def best_and_worst(table: pl.DataFrame, limit: int, by: str = "skill") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the first `limit` of both lists without overlap; all workers in the first if there are at most twice that
    many.
    """
    best = best_first(table, by)
    if len(best) <= 2 * limit:
        return best, best.clear()
    top = best.head(limit)
    worst = worst_first(table, by)
    return top, worst.filter(~worst["worker"].is_in(top["worker"].to_list())).head(limit)


def _with_answers(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("n_labels") > 0)


# ----------------------------------------------------------------
# Formatting of numbers about workers.


def number(value: float | None, digits: int = 3) -> str:
    """0.731, or a dash if there is no number."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def between(low: float | None, high: float | None, digits: int = 3) -> str:
    """0.610 – 0.800, or "" if there is no interval."""
    return "" if low is None or high is None else f"{number(low, digits)} – {number(high, digits)}"


def strength(probability: float | None, p_value: float | None) -> str:
    """Return the strength of a flag as text."""
    if probability is not None:
        return f"probability {probability:.3f}"
    return "" if p_value is None else f"p = {p_value:.2g}"


def some_of(shown: int, n: int) -> str:
    """Return a suffix for titles: how many of a long list are shown."""
    return f" ({shown} of {n:,})" if n > shown else ""


def amount(value: float | None, unit: float) -> str:
    """Format a number in the user's unit, of which `unit` is a typical spread, with enough digits to show
    differences.
    """
    if value is None or not math.isfinite(value):
        return "–"
    if not (math.isfinite(unit) and 1e-6 < unit < 1e9) or abs(value) >= 1e12:
        return f"{value:.3g}"
    out = f"{value:,.{max(0, 2 - math.floor(math.log10(unit)))}f}"
    return out.removeprefix("-") if float(out.replace(",", "")) == 0 else out


def number_as_given(value: float) -> str:
    """Format a number with up to six digits."""
    return f"{value:,.6g}" if 1e-4 <= abs(value) < 1e9 or value == 0 else f"{value:.6g}"


def amounts(low: float | None, high: float | None, unit: float) -> str:
    """Format an interval of such numbers; "" if there is none."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"{amount(low, unit)} to {amount(high, unit)}"


# Titles of the tables of the first and last workers of many.
BEST_AND_WORST = ("Best workers (the first {n})", "Worst workers (the last {n})")
# Output of a study: tables, and sentences between them.
Block = Table | str


@dataclass(frozen=True, eq=False)
class Studied(ABC):
    """Base class of worker studies.

    A kind implements `worker_tables` and may extend `files`, `to_dict` and `more`.

    Attributes:
        meanings: Flags of the kind in words.
        votes: The votes.
        result: The result.
        quality: A row per worker (or per worker and part of the answers).
        agreement: Agreement coefficients of the crowd.
        flags: Flags of workers, most serious first.
    """

    meanings: ClassVar[Mapping[str, str]] = NAMES
    votes: Votes[Any] = field(repr=False)
    result: Result = field(repr=False)
    quality: pl.DataFrame
    agreement: list[Coefficient]
    flags: list[Flag]

    @abstractmethod
    def worker_tables(self, ends: int) -> list[Table]:
        """Return all workers, or `ends` of the best and of the worst of many."""

    def flag_names(self, worker: Any) -> str:
        """Return the names of a worker's flags, separated by commas."""
        return ", ".join(dict.fromkeys(flag.name for flag in self.flags if flag.worker == worker))

    def more(self, shown: int) -> list[Block]:  # noqa: ARG002
        """Return what follows the flags."""
        return []

    def closing(self) -> str:
        """Return how many workers are flagged, and for how many there is too little data."""
        serious = [flag for flag in self.flags if flag.name != "unknown"]
        unknown = len(self.flags) - len(serious)
        n = len({flag.worker for flag in serious})
        start = "1 worker is flagged" if n == 1 else f"{n} workers are flagged"
        return start + self.closing_more() + f"; of {unknown} too little is known" * (unknown > 0)

    def closing_more(self) -> str:
        """Return what is counted besides flags."""
        return ""

    def files(self) -> dict[str, pl.DataFrame]:
        """Return the tables by file name."""
        return {
            "quality.csv": self.quality,
            "agreement.csv": agreement_table(self.agreement),
            "flags.csv": flag_table(self.flags),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "method": self.result.method,
            "agreement": [c.to_dict() for c in self.agreement],
            "flags": [flag.to_dict() for flag in self.flags],
            "workers": self.quality.to_dicts(),
        }

    def blocks(self, shown: int, ends: int) -> list[Block]:
        """Return the output for a terminal: at most `shown` rows of each list, `ends` of the best and of the worst
        workers.
        """
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
        rate_texts = [f"{name} {rate}" for name, rate in rates if rate]
        return out + [f"false alarms, as measured in simulated crowds: {'; '.join(rate_texts)}"] * bool(rate_texts)


@dataclass(frozen=True, eq=False)
class RankedStudy(Studied):
    """Study whose workers are ranked by one column of `quality`. A kind implements `cells`.

    Attributes:
        RANKED_BY: The column; `quality` also has its interval, as columns with the suffixes _low and _high.
        TITLES: Titles of the table of all workers, and of those of the best and of the worst of many.
        HEADER: Header of the tables.
    """

    RANKED_BY: ClassVar[str]
    TITLES: ClassVar[tuple[str, str, str]]
    HEADER: ClassVar[tuple[str, ...]]

    def worker_tables(self, ends: int) -> list[Table]:
        """Return a table of all workers, or of the `ends` best and worst of many."""
        best, worst = best_and_worst(self.quality, ends, self.RANKED_BY)
        all_workers, *title_of_ends = self.titles()
        tables = {all_workers: best}
        if len(worst):
            n = int((self.quality["n_labels"] > 0).sum())
            tables = {
                title.format(ends=f"({ends} of {n:,}, by the {end} end of the interval)", n=ends): table
                for title, end, table in zip(title_of_ends, ("lower", "upper"), (best, worst), strict=True)
            }
        header = self.header()
        return [Table(title, header, [self._row(row) for row in table.to_dicts()]) for title, table in tables.items()]

    def _row(self, row: dict[str, Any]) -> list[str]:
        return [*self.cells(row), self.flag_names(row["worker"])]

    def titles(self) -> tuple[str, str, str]:
        """Return the titles of the tables."""
        return self.TITLES

    def header(self) -> list[str]:
        """Return the header of the tables."""
        return [*self.HEADER, "flags"]

    @abstractmethod
    def cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of `quality` as text, without the flags."""


@overload
def study(votes: Annotations, result: Result, *, gold: Any = None, **options: Any) -> Study: ...


@overload
def study(votes: Votes[Any], result: Result, *, gold: Any = None, **options: Any) -> Studied: ...


def study(votes: Votes[Any], result: Result, *, gold: Any = None, **options: Any) -> Studied:
    """Study the workers: quality, agreement and flags, for any kind of answers.

    Args:
        votes: The votes.
        result: A result of these votes.
        gold: Known labels; adds the quality of workers on these tasks.
        **options: Options of the kind (see `study_classes`).

    Returns:
        A `Studied`, for classes a `Study`.
    """
    if votes.kind is not result.kind:
        raise DataError(f"the result is of {result.kind.display_name}, but the votes are {votes.kind.display_name}")
    studied: Studied = result.kind.hooks.study(votes, result, gold=gold, **options)
    return studied
