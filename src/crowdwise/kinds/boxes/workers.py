"""Quality, agreement and flags of workers who draw boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from ...core import method_registry as registry
from ...core.result import Result
from ...core.votes import Votes
from ...workers.distance_based import DistanceStudy, study_parts, with_summary
from ...workers.flags import Flag
from ...workers.studied import BEST_AND_WORST, between, number
from ...workers.tables import WorkerRows, end_rows
from .answers import Boxes
from .estimate import GOLD, MAJORITY, MODEL, BoxWorkers

# Columns of the shares that workers are ranked by, and what the shares are called: gold, the method's model, or
# agreement with the majority of the other workers, which is no measure of quality.
_AGAINST_GOLD = (("recall", "precision"), ("recall", "precision"), ("gold_missed", "gold_spurious"))
_MAJORITY = ("majority_recall", "majority_precision")
_AGAINST_MAJORITY = (_MAJORITY, ("recall vs majority", "precision vs majority"), ("missed", "spurious"))


def _measured(table: pl.DataFrame) -> tuple[tuple[str, str], tuple[str, str], tuple[str, str]]:
    """Return the columns of the two shares, their names, and the columns of the counts."""
    return _AGAINST_GOLD if "recall" in table.columns else _AGAINST_MAJORITY


def header_of(table: pl.DataFrame) -> list[str]:
    """Return the header of the table of workers: what the shares are measured against."""
    recall, precision = _measured(table)[1]
    images = "gold images" if "recall" in table.columns else "images"
    model = ["sensitivity", "95 % interval", "false alarms per image"] if "sensitivity" in table.columns else []
    return ["worker", images, *model, recall, "95 % interval", precision, "95 % interval", "missed", "spurious", "IoU"]


def worker_rows(result: Result, limit: int = 5) -> WorkerRows:
    """Return header and rows of the best and the worst workers by the F1 of their boxes."""
    table = with_f1(result)
    return end_rows(table, limit, "f1", header_of(table), _cells)


def _cells(row: dict[str, Any], digits: int = 3) -> list[str]:
    """Return the cells under `header_of` of a row of the worker table."""
    (recall, precision), _, (missed, spurious) = _AGAINST_GOLD if "recall" in row else _AGAINST_MAJORITY
    images = row["gold_images"] if "recall" in row else row["n_labels"]
    model = []
    if "sensitivity" in row:
        ends = (row["sensitivity_low"], row["sensitivity_high"])
        model = [number(row["sensitivity"], digits), between(*ends, digits), number(row["false_alarms"], 2)]
    shares: list[str] = []
    for name in (recall, precision):
        shares += [number(row[name], digits), between(row[f"{name}_low"], row[f"{name}_high"], digits)]
    return [
        str(row["worker"]), f"{images:,}", *model, *shares,
        f"{row[missed]:,}", f"{row[spurious]:,}", number(row["overlap"], digits),
    ]  # fmt: skip


def with_f1(result: Result) -> pl.DataFrame:
    """Return the worker table with f1, f1_low and f1_high, from recall, precision and the ends of their intervals.

    They are those against gold if the fit was given gold, else those of the agreement with the majority.
    """
    table = result.worker_table()
    recall, precision = _measured(table)[0]

    def f1(end: str) -> pl.Expr:
        a, b = pl.col(f"{recall}{end}"), pl.col(f"{precision}{end}")
        expr = pl.when(a.is_null()).then(b).when(b.is_null()).then(a).otherwise(2 * a * b / (a + b))
        return expr.fill_nan(0.0).alias(f"f1{end}")

    return table.with_columns(f1(""), f1("_low"), f1("_high"))


# ----------------------------------------------------------------
# The worker study.
_MORE = (
    "gold_images", *GOLD, "gold_missed", "gold_spurious", *MODEL, *MAJORITY, "overlap", "there", "missed", "spurious",
    "f1", "f1_low", "f1_high",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class BoxStudy(DistanceStudy):
    """Worker study of boxes.

    `quality` has, besides the common columns, the agreement with the majority of the other workers (majority_recall,
    majority_precision) with intervals, missed, spurious and overlap (IoU with the estimated boxes); recall and
    precision if the fit was given gold; sensitivity and false_alarms if the method estimates them.
    """

    RANKED_BY: ClassVar[str] = "f1"

    def titles(self) -> tuple[str, str, str]:
        """Return the titles of the tables: what the workers are measured against."""
        against = "gold" if "recall" in self.quality.columns else "agreement with the majority of the others"
        return (f"Workers, by {against}", *BEST_AND_WORST)

    def header(self) -> list[str]:
        """Return the header of the tables."""
        return [*header_of(self.quality), "follows", "flags"]

    def cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of `quality` as text, without the flags."""
        return [*_cells(row, 2), number(row["follows"], 2)]

    def closing_more(self) -> str:
        """Return what the table cannot show without gold."""
        if "recall" in self.quality.columns:
            return ""
        return "; agreement with the majority is not quality: what most workers miss counts against those who draw it"


def study_boxes(votes: Votes[Boxes], result: Result, *, gold: Any = None, idle: float = 600.0) -> BoxStudy:
    """Study the workers of a fit of boxes. The options are those of `study_by_distance`."""
    parts = study_parts(votes, result, gold=gold, idle=idle)
    measured = result
    if gold is not None and not _has_gold(result):
        measured = registry.method(result.method, **result.params).fit(votes, gold=gold)
    table = with_f1(measured)
    names = [name for name in _MORE if name in table.columns]
    parts["quality"] = with_summary(parts["quality"], table.select("worker", "n_labels", *names))
    return BoxStudy(**parts)


def _has_gold(result: Result) -> bool:
    return isinstance(result.worker_summary, BoxWorkers) and result.worker_summary.recall is not None


def flag_boxes(votes: Votes[Boxes], result: Result) -> list[Flag]:
    """Return all worker flags of a fit of boxes."""
    return study_boxes(votes, result).flags
