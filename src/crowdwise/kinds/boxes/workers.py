"""Quality, agreement and flags of workers who draw boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...workers.distance_based import DistanceStudy, study_parts, with_summary
from ...workers.flags import Flag
from ...workers.studied import BEST_AND_WORST, between, number
from ...workers.tables import WorkerRows, end_rows
from .answers import Boxes

_HEADER = ["worker", "images", "recall", "95 % interval", "precision", "95 % interval", "missed", "spurious", "IoU"]


def worker_rows(result: Result, limit: int = 5) -> WorkerRows:
    """Return header and rows of the best and the worst workers by the F1 of their boxes."""
    return end_rows(with_f1(result), limit, "f1", _HEADER, _cells)


def _cells(row: dict[str, Any], digits: int = 3) -> list[str]:
    """Return the cells under `_HEADER` of a row of the worker table."""
    return [
        str(row["worker"]), f"{row['n_labels']:,}",
        number(row["recall"], digits), between(row["recall_low"], row["recall_high"], digits),
        number(row["precision"], digits), between(row["precision_low"], row["precision_high"], digits),
        f"{row['missed']:,}", f"{row['spurious']:,}", number(row["overlap"], digits),
    ]  # fmt: skip


def with_f1(result: Result) -> pl.DataFrame:
    """Return the worker table with f1, f1_low and f1_high, from recall, precision and the ends of their intervals."""

    def f1(end: str) -> pl.Expr:
        a, b = pl.col(f"recall{end}"), pl.col(f"precision{end}")
        expr = pl.when(a.is_null()).then(b).when(b.is_null()).then(a).otherwise(2 * a * b / (a + b))
        return expr.fill_nan(0.0).alias(f"f1{end}")

    return result.worker_table().with_columns(f1(""), f1("_low"), f1("_high"))


# ----------------------------------------------------------------
# The worker study.
_MORE = ("recall", "recall_low", "recall_high", "precision", "precision_low", "precision_high", "overlap", "there",
         "missed", "spurious", "f1", "f1_low", "f1_high")  # fmt: skip


@dataclass(frozen=True, eq=False)
class BoxStudy(DistanceStudy):
    """Worker study of boxes.

    `quality` has, besides the common columns, recall and precision against the other workers with their intervals,
    missed, spurious and overlap (IoU with the estimated boxes).
    """

    RANKED_BY: ClassVar[str] = "f1"
    TITLES: ClassVar[tuple[str, str, str]] = ("Workers, by recall and precision", *BEST_AND_WORST)
    HEADER: ClassVar[tuple[str, ...]] = (*_HEADER, "follows")

    def cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of `quality` as text, without the flags."""
        return [*_cells(row, 2), number(row["follows"], 2)]


def study_boxes(votes: Votes[Boxes], result: Result, *, gold: Any = None, idle: float = 600.0) -> BoxStudy:
    """Study the workers of a fit of boxes. The options are those of `study_by_distance`."""
    parts = study_parts(votes, result, gold=gold, idle=idle)
    parts["quality"] = with_summary(parts["quality"], with_f1(result).select("worker", "n_labels", *_MORE))
    return BoxStudy(**parts)


def flag_boxes(votes: Votes[Boxes], result: Result) -> list[Flag]:
    """Return all worker flags of a fit of boxes."""
    return study_boxes(votes, result).flags
