"""Estimates against the truth: error, correlation, coverage, each with an interval by resampling tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...bootstrap import MAX_BLOCKS, bootstrap_interval, random_blocks
from ..rows import F8


@dataclass(frozen=True)
class Score:
    """A figure with its interval; (NaN, NaN) where there are too few tasks for one."""

    value: float
    low: float
    high: float


def scores(
    estimate: F8, truth: F8, low: F8 | None = None, high: F8 | None = None, *, level: float = 0.95, seed: int = 0
) -> dict[str, Score]:
    """rmse, mae, bias, pearson, spearman, r2 and, given intervals, coverage and width, over tasks with truth.

    `spearman` is Pearson's coefficient of the ranks; its interval takes the ranks as given.
    """
    use = np.flatnonzero(~np.isnan(truth) & ~np.isnan(estimate))
    if not len(use):
        raise ValueError("no task has both an estimate and a truth: nothing to score")
    x, y = estimate[use], truth[use]
    unit = float(np.abs(y - y.mean()).max()) or 1.0
    columns = _columns((x - y.mean()) / unit, (y - y.mean()) / unit)
    names = ["rmse", "mae", "bias", "pearson", "spearman", "r2"]
    if low is not None and high is not None:
        columns += [((low[use] <= y) & (y <= high[use])).astype(np.float64), (high[use] - low[use]) / unit]
        names += ["coverage", "width"]
    terms = np.stack(columns, axis=1)
    rng = np.random.default_rng(seed)
    n_blocks = min(len(use), MAX_BLOCKS)
    block = random_blocks(len(use), n_blocks, rng)
    sums = np.zeros((n_blocks, terms.shape[1]))
    np.add.at(sums, block, terms)
    out = {}
    for k, name in enumerate(names):
        value = float(_figures(terms.sum(axis=0)[None])[k][0])
        found = bootstrap_interval(sums, lambda s, k=k: _figures(s)[k], level, rng)  # type: ignore[misc]
        ends = (np.nan, np.nan) if found is None else found
        size = unit if name in ("rmse", "mae", "bias", "width") else 1.0
        out[name] = Score(size * value, size * ends[0], size * ends[1])
    return out


def _columns(x: F8, y: F8) -> list[F8]:
    from scipy.stats import rankdata

    a, b = rankdata(x) / len(x) - 0.5, rankdata(y) / len(y) - 0.5
    gap = x - y
    return [np.ones(len(x)), gap, np.abs(gap), gap**2, x, y, x**2, y**2, x * y, a, b, a**2, b**2, a * b]


def _figures(sums: F8) -> list[F8]:
    """rmse, mae, bias, pearson, spearman, r2, then what else was summed, from sums[draw, term]."""
    s = sums.T
    n = s[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = s[7] / n - (s[5] / n) ** 2
        r2 = np.where(spread > 1e-15, 1 - (s[3] / n) / spread, np.nan)
        rest = [column / n for column in s[14:]]
        figures = [np.sqrt(s[3] / n), s[2] / n, s[1] / n, _correlation(n, *s[4:9]), _correlation(n, *s[9:14]), r2]
        return [*figures, *rest]


def _correlation(n: F8, x: F8, y: F8, xx: F8, yy: F8, xy: F8) -> F8:
    a, b = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
    return np.where((a > 1e-15) & (b > 1e-15), (xy / n - x * y / n**2) / np.sqrt(a * b), np.nan)
