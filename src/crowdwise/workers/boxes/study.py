"""The workers of a fit of boxes: what they miss, what they make up, how close their boxes are; agreement; flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.boxes.answers import Boxes
from ...scoring.scored import Table
from ..alike.study import AlikeStudy, looked_at
from ..flags import Flag
from ..ranking import best_and_worst
from ..wording import between, number
from .rows import with_f1

_MORE = ("recall", "recall_low", "recall_high", "precision", "precision_low", "precision_high", "overlap", "there",
         "missed", "spurious", "f1", "f1_low", "f1_high")  # fmt: skip


@dataclass(frozen=True, eq=False)
class BoxStudy(AlikeStudy):
    """`quality` has besides what every kind has: recall (objects that the others drew and they too) and precision
    (their boxes that the others confirm) with intervals, missed, spurious, overlap (IoU with the fused boxes)."""

    def worker_tables(self, ends: int) -> list[Table]:
        """All workers, or the best and the worst of many by the F1 of recall and precision."""
        best, worst = best_and_worst(self.quality, ends, "f1")
        parts = {"Workers, by recall and precision": best}
        if len(worst):
            parts = {f"Best workers (the first {ends})": best, f"Worst workers (the last {ends})": worst}
        header = ["worker", "pictures", "recall", "95 % interval", "precision", "95 % interval", "missed", "spurious",
                  "IoU", "follows", "flags"]  # fmt: skip
        return [Table(title, header, [self._line(row) for row in table.to_dicts()]) for title, table in parts.items()]

    def _line(self, row: dict[str, Any]) -> list[str]:
        names = dict.fromkeys(flag.name for flag in self.flags if flag.worker == row["worker"])
        return [
            str(row["worker"]),
            f"{row['n_labels']:,}",
            number(row["recall"], 2),
            between(row["recall_low"], row["recall_high"], 2),
            number(row["precision"], 2),
            between(row["precision_low"], row["precision_high"], 2),
            f"{row['missed']:,}",
            f"{row['spurious']:,}",
            number(row["overlap"], 2),
            number(row["follows"], 2),
            ", ".join(names),
        ]


def study_boxes(votes: Votes[Boxes], result: Result, *, gold: Any = None, idle: float = 600.0) -> BoxStudy:
    """Of boxes. `gold` adds distances on known pictures, `idle` is the longest pause in seconds that is still work."""
    parts = looked_at(votes, result, gold=gold, idle=idle)
    more = with_f1(result).select("worker", *_MORE).with_columns(pl.col("worker").cast(votes.workers.dtype))
    parts["quality"] = parts["quality"].join(more, on="worker", how="left", maintain_order="left")
    return BoxStudy(**parts)


def flag_boxes(votes: Votes[Boxes], result: Result) -> list[Flag]:
    """All flags of a fit of boxes."""
    return study_boxes(votes, result).flags
