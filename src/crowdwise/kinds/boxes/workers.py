"""Quality, agreement and flags of workers who draw boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.scores import Table
from ...workers.distance_based import DistanceStudy, study_parts
from ...workers.flags import Flag
from ...workers.studied import best_and_worst, between, number
from .answers import Boxes

HEADER = ["worker", "images", "recall", "95 % interval", "precision", "95 % interval", "missed", "spurious", "IoU"]


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the best and the worst workers by the F1 of their boxes."""
    best, worst = best_and_worst(with_f1(result), limit, "f1")
    rows = [_cells(row, 3) for row in best.vstack(worst.reverse()).to_dicts()]
    if len(worst):
        rows.insert(limit, ["…"] + [""] * (len(HEADER) - 1))
    return HEADER, rows


def _cells(row: dict[str, Any], digits: int) -> list[str]:
    """Return the cells under `HEADER` of a row of the worker table."""
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

    def worker_tables(self, ends: int) -> list[Table]:
        """Return tables of all workers or, if there are many, of the best and the worst by F1."""
        best, worst = best_and_worst(self.quality, ends, "f1")
        parts = {"Workers, by recall and precision": best}
        if len(worst):
            parts = {f"Best workers (the first {ends})": best, f"Worst workers (the last {ends})": worst}
        header = [*HEADER, "follows", "flags"]
        return [Table(title, header, [self._line(row) for row in table.to_dicts()]) for title, table in parts.items()]

    def _line(self, row: dict[str, Any]) -> list[str]:
        names = dict.fromkeys(flag.name for flag in self.flags if flag.worker == row["worker"])
        return [*_cells(row, 2), number(row["follows"], 2), ", ".join(names)]


def study_boxes(votes: Votes[Boxes], result: Result, *, gold: Any = None, idle: float = 600.0) -> BoxStudy:
    """Study the workers of a fit of boxes. The options are those of `study_by_distance`."""
    parts = study_parts(votes, result, gold=gold, idle=idle)
    more = with_f1(result).select("worker", *_MORE).with_columns(pl.col("worker").cast(votes.workers.dtype))
    parts["quality"] = parts["quality"].join(more, on="worker", how="left", maintain_order="left")
    return BoxStudy(**parts)


def flag_boxes(votes: Votes[Boxes], result: Result) -> list[Flag]:
    """Return all worker flags of a fit of boxes."""
    return study_boxes(votes, result).flags
