"""The table of judges, one row per judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..core.arrays import F8
from ..core.result import Result
from ..core.side_tables import column_by
from ..evaluation.intervals import jeffreys
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.gold import GoldLabels
from ..kinds.classes.methods.judges import JudgeVerdicts, kinds_of
from ..stats.platt import Platt, fit_platt, why_ignored


def judge_table(
    votes: Annotations,
    verdicts: JudgeVerdicts,
    gold: GoldLabels | None,
    family: pl.Series,
    price: F8 | None,
    result: Result,
    stated: list[Stated | None],
    bias: pl.DataFrame,
) -> pl.DataFrame:
    """Build the table of judges.

    Columns: judge, family, kind, version, price, tasks, rows, unusable verdicts, agreement of repeats, accuracy and
    recalls on gold, stated confidence, position bias, weight in the stack.
    """
    m = verdicts.n_judges
    tasks = np.bincount(verdicts.judge, minlength=m)
    rows = np.bincount(verdicts.judge, weights=verdicts.rows, minlength=m).astype(np.int64)
    unusable = column_by(votes.about_workers, "unusable", votes.workers)
    lost = np.zeros(m, dtype=np.int64) if unusable is None else unusable.fill_null(0).cast(pl.Int64).to_numpy()
    columns: dict[str, Any] = {
        "judge": votes.workers.cast(pl.String),
        "family": family,
        "kind": pl.Series(kinds_of(votes), dtype=pl.String),
        "version": pl.Series(versions_of(votes), dtype=pl.String),
        "price": pl.Series([None] * m, dtype=pl.Float64) if price is None else price,
        "tasks": tasks,
        "rows": rows,
        "unusable": lost,
        "unusable_share": lost / np.maximum(rows + lost, 1),
        "own_agreement": own_agreement(verdicts),
        **_on_gold(verdicts, gold, votes),
        "stated_confidence": [None if s is None else s.mean for s in stated],
        "confidence_shift": [None if s is None or s.platt is None else s.platt.shift for s in stated],
        "confidence_slope": [None if s is None or s.platt is None else s.platt.slope for s in stated],
        "confidence_note": ["" if s is None else s.why for s in stated],
        **_position(bias, votes),
        "weight": result.extra["weight"] if "weight" in result.extra else [None] * m,
    }
    table = pl.DataFrame(columns, strict=False)
    return table.with_columns(pl.selectors.float().fill_nan(None))


def versions_of(votes: Annotations) -> list[str | None]:
    """The version of each judge, from the rows or the table about workers; None where it is not known."""
    by_worker = column_by(votes.about_workers, "version", votes.workers)
    if votes.about_rows is None or "version" not in votes.about_rows.columns:
        return [None] * votes.n_workers if by_worker is None else [None if v is None else str(v) for v in by_worker]
    rows = pl.DataFrame({"worker": votes.worker, "version": votes.about_rows["version"].cast(pl.String)})
    by_row = dict(rows.drop_nulls().unique("worker", maintain_order=True).iter_rows())
    return [by_row.get(worker) for worker in range(votes.n_workers)]


def own_agreement(verdicts: JudgeVerdicts) -> F8:
    """Agreement of repeated verdicts of a judge on the same task; NaN without repeats."""
    repeated = verdicts.rows > 1
    n = verdicts.rows[repeated].astype(np.float64)
    same = ((verdicts.share[repeated] ** 2).sum(axis=1) * n - 1) / (n - 1)
    judge = verdicts.judge[repeated]
    count = np.bincount(judge, minlength=verdicts.n_judges)
    total = np.bincount(judge, weights=same, minlength=verdicts.n_judges)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _on_gold(verdicts: JudgeVerdicts, gold: GoldLabels | None, votes: Annotations) -> dict[str, Any]:
    """n_gold, accuracy with its interval, and the recall of each class."""
    m, k = verdicts.n_judges, votes.n_classes
    names = [str(name) for name in votes.classes.cast(pl.String)]
    if gold is None:
        empty = pl.Series([None] * m, dtype=pl.Float64)
        return {"n_gold": np.zeros(m, dtype=np.int64), "accuracy": empty, "accuracy_low": empty, "accuracy_high": empty}
    on_gold = np.flatnonzero(gold.mask[verdicts.task])
    true = gold.label[verdicts.task[on_gold]].astype(np.int64)
    hit, judge = verdicts.share[on_gold, true], verdicts.judge[on_gold]
    n = np.bincount(judge, minlength=m)
    right = np.bincount(judge, weights=hit, minlength=m)
    accuracy = np.where(n > 0, right / np.maximum(n, 1), np.nan)
    spans = [jeffreys(float(a), int(c)) if c else (np.nan, np.nan) for a, c in zip(accuracy, n, strict=True)]
    out: dict[str, Any] = {
        "n_gold": n,
        "accuracy": accuracy,
        "accuracy_low": [low for low, _ in spans],
        "accuracy_high": [high for _, high in spans],
    }
    cell = judge * k + true
    count = np.bincount(cell, minlength=m * k).reshape(m, k)
    hits = np.bincount(cell, weights=hit, minlength=m * k).reshape(m, k)
    recall = np.where(count > 0, hits / np.maximum(count, 1), np.nan)
    return out | {f"recall_{name}": recall[:, c] for c, name in enumerate(names)}


def _position(bias: pl.DataFrame, votes: Annotations) -> dict[str, Any]:
    part = bias.filter(pl.col("check") == "position")
    if not len(part):
        return {}
    by_judge = dict(zip(part["judge"], part.select("flips", "effect", "low", "high", "biased").rows(), strict=True))
    rows = [by_judge.get(str(name), (None,) * 5) for name in votes.workers]
    names = ("flips", "position", "position_low", "position_high", "position_biased")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


# ----------------------------------------------------------------
# Calibration of the confidence that judges state, by Platt scaling on gold.

BINS = 8


@dataclass(frozen=True)
class Stated:
    """The stated confidence of a judge on gold tasks.

    Attributes:
        platt: The calibration map (None: the confidence is ignored).
        why: Why it is ignored.
        mean: Mean stated confidence.
        right: Share of right verdicts.
        n: Number of gold tasks.
        curve: Calibration curve: (mean confidence, share right, number of tasks) of each bin.
    """

    platt: Platt | None
    why: str
    mean: float
    right: float
    n: int
    curve: tuple[tuple[float, float, int], ...]


def stated(verdicts: JudgeVerdicts, gold: GoldLabels | None, judge: int) -> Stated | None:
    """Calibrate the confidence of a judge; None where the judge states none."""
    has_confidence = (verdicts.judge == judge) & np.isfinite(verdicts.confidence)
    if not has_confidence.any():
        return None
    if gold is None:
        mean = float(verdicts.confidence[has_confidence].mean())
        return Stated(None, "no gold: read as symbols by judge_symbols, not as chances", mean, float("nan"), 0, ())
    rows = np.flatnonzero(has_confidence & gold.mask[verdicts.task])
    confidence = verdicts.confidence[rows]
    right = (verdicts.mode[rows] == gold.label[verdicts.task[rows]]).astype(np.float64)
    reason = why_ignored(confidence)
    mean, hit = (float(confidence.mean()), float(right.mean())) if len(rows) else (float("nan"), float("nan"))
    return Stated(
        None if reason else fit_platt(confidence, right), reason, mean, hit, len(rows), _curve(confidence, right)
    )


def _curve(confidence: F8, right: F8) -> tuple[tuple[float, float, int], ...]:
    """Bins with about the same number of tasks; equal confidences stay together."""
    if not len(confidence):
        return ()
    level = np.unique(confidence, return_inverse=True)[1]
    n = np.bincount(level)
    bin_ = np.minimum((np.cumsum(n) - n / 2) * BINS // len(confidence), BINS - 1).astype(int)[level]
    return tuple(
        (float(confidence[bin_ == b].mean()), float(right[bin_ == b].mean()), int((bin_ == b).sum()))
        for b in np.unique(bin_)
    )
