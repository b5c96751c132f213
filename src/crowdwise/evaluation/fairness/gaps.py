"""Gaps between groups of tasks: all pairs of groups, every measure and class, with simultaneous intervals."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8
from . import maths
from .group_counts import GroupCounts


def gap_tables(
    cells: GroupCounts, level: float, new: bool, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return (gaps between every two groups, rates of each group).

    low and high hold for all gaps at once, low_alone and high_alone for a single gap chosen beforehand.
    """
    k, g = len(cells.verdicts.classes), len(cells.names)
    if cells.counts is None:
        labelled = cells.tasks[..., None] * np.eye(k)
        shares = np.stack([maths.rates(_resampled(labelled, rng)) for _ in range(500)]) if new else None
        point, gold = maths.rates(labelled), maths.gold_counts(np.zeros((g, k, k)))
        drawn = np.broadcast_to(point, (2, *point.shape)) if shares is None else shares
    else:
        point, gold = maths.points(cells.tasks, cells.counts), maths.gold_counts(cells.counts)
        drawn = maths.draws(cells.tasks, cells.counts, rng, new=new)
    shown = (gold >= maths.LEAST) & np.isfinite(point)
    rows, pick = [], []
    for measure, name in enumerate(maths.MEASURES):
        for c in range(k if name != "accuracy" else 1):
            for a, b in combinations(range(g), 2):
                is_shown = bool(shown[measure, c, a] and shown[measure, c, b])
                gap = float(point[measure, c, a] - point[measure, c, b]) if is_shown else None
                rows.append([name, _class(cells, name, c), str(cells.names[a]), str(cells.names[b]), gap])
                pick.append((measure, c, a, b, is_shown))
    is_valid = np.array([p[4] for p in pick], dtype=bool)
    index = np.array([p[:4] for p in pick])[is_valid]
    low, high = np.full(len(pick), np.nan), np.full(len(pick), np.nan)
    single = np.full((2, len(pick)), np.nan)
    if len(index):
        m, c, a, b = index.T
        drawn_gaps = np.nan_to_num(drawn[:, m, c, a] - drawn[:, m, c, b])
        low[is_valid], high[is_valid] = maths.simultaneous(drawn_gaps, level)
        single[:, is_valid] = np.quantile(drawn_gaps, [(1 - level) / 2, (1 + level) / 2], axis=0)
    table = pl.DataFrame(rows, ["measure", "class", "group", "other", "gap"], orient="row", infer_schema_length=None)
    why = np.where(is_valid, "", "too few gold labels")
    ends = {"low": low, "high": high, "low_alone": single[0], "high_alone": single[1]}
    gaps = table.with_columns(*(pl.Series(name, end).fill_nan(None) for name, end in ends.items()))
    gaps = gaps.with_columns(pl.Series("note", why.tolist()))
    return gaps, _rate_table(cells, point, drawn, gold, shown, level)


def _resampled(table: F8, rng: np.random.Generator) -> F8:
    labelled = np.diagonal(table, axis1=1, axis2=2)
    shares = labelled / labelled.sum(axis=1, keepdims=True)
    drawn = np.stack([rng.multinomial(int(n), p) for n, p in zip(labelled.sum(axis=1), shares, strict=True)])
    return np.asarray(drawn[..., None] * np.eye(labelled.shape[1]))


def _class(cells: GroupCounts, measure: str, code: int) -> str | None:
    return None if measure == "accuracy" else str(cells.verdicts.classes[code])


def _rate_table(cells: GroupCounts, point: F8, drawn: F8, gold: F8, shown: Any, level: float) -> pl.DataFrame:
    ends = [(1 - level) / 2, (1 + level) / 2]
    rows = []
    for measure, name in enumerate(maths.MEASURES):
        for c in range(point.shape[1] if name != "accuracy" else 1):
            for z, group in enumerate(cells.names):
                n = gold[measure, c, z]
                base = [name, _class(cells, name, c), str(group), int(n) if np.isfinite(n) else None]
                if shown[measure, c, z]:
                    low, high = np.nanquantile(drawn[:, measure, c, z], ends)
                    rows.append([*base, float(point[measure, c, z]), float(low), float(high)])
                elif cells.counts is not None or name == "positive":
                    rows.append([*base, None, None, None])
    columns = {"measure": pl.String, "class": pl.String, "group": pl.String, "n_gold": pl.Int64, "rate": pl.Float64,
               "low": pl.Float64, "high": pl.Float64}  # fmt: skip
    return pl.DataFrame(rows, columns, orient="row")
