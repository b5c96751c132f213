"""The table of judges: a row each, with all that is known of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.result import Result
from ..core.side_tables import column_by
from ..evaluation.intervals import jeffreys
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.gold import Gold
from ..kinds.classes.methods.judges import Voices, kinds_of
from .confidence import Stated

F8 = npt.NDArray[np.float64]


def judge_table(
    votes: Annotations,
    said: Voices,
    gold: Gold | None,
    family: pl.Series,
    price: F8 | None,
    result: Result,
    stated: list[Stated | None],
    bias: pl.DataFrame,
) -> pl.DataFrame:
    """judge, family, kind, price, tasks, rows, unusable verdicts, agreement of repeats, accuracy and recalls on gold,
    stated confidence, position, weight in the stack."""
    m = said.n_judges
    tasks = np.bincount(said.judge, minlength=m)
    rows = np.bincount(said.judge, weights=said.rows, minlength=m).astype(np.int64)
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
        "own_agreement": own_agreement(said),
        **_on_gold(said, gold, votes),
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
    """The version of each judge, as rows or the table about workers say; None where nobody says."""
    told = column_by(votes.about_workers, "version", votes.workers)
    if votes.about_rows is None or "version" not in votes.about_rows.columns:
        return [None] * votes.n_workers if told is None else [None if v is None else str(v) for v in told]
    rows = pl.DataFrame({"worker": votes.worker, "version": votes.about_rows["version"].cast(pl.String)})
    found = dict(rows.drop_nulls().unique("worker", maintain_order=True).iter_rows())
    return [found.get(worker) for worker in range(votes.n_workers)]


def own_agreement(said: Voices) -> F8:
    """How often two different verdicts of a judge on one task say the same; NaN where there are no repeats."""
    many = said.rows > 1
    n = said.rows[many].astype(np.float64)
    same = ((said.share[many] ** 2).sum(axis=1) * n - 1) / (n - 1)
    judge = said.judge[many]
    count = np.bincount(judge, minlength=said.n_judges)
    total = np.bincount(judge, weights=same, minlength=said.n_judges)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _on_gold(said: Voices, gold: Gold | None, votes: Annotations) -> dict[str, Any]:
    """n_gold, accuracy with its interval, and the recall of each class."""
    m, k = said.n_judges, votes.n_classes
    names = [str(name) for name in votes.classes.cast(pl.String)]
    if gold is None:
        empty = pl.Series([None] * m, dtype=pl.Float64)
        return {"n_gold": np.zeros(m, dtype=np.int64), "accuracy": empty, "accuracy_low": empty, "accuracy_high": empty}
    pick = np.flatnonzero(gold.mask[said.task])
    true = gold.label[said.task[pick]].astype(np.int64)
    hit, judge = said.share[pick, true], said.judge[pick]
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
    found = dict(zip(part["judge"], part.select("flips", "effect", "low", "high", "biased").rows(), strict=True))
    rows = [found.get(str(name), (None,) * 5) for name in votes.workers]
    names = ("flips", "position", "position_low", "position_high", "position_biased")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
