"""Mean ranks over sets with a critical difference, and paired tests against one method.

Friedman's test asks whether the methods differ at all; two mean ranks that differ by more than Nemenyi's critical
difference differ at the 5 % level, all pairs at once: Demšar (2006), Statistical comparisons of classifiers over
multiple data sets, JMLR 7. With many methods and few sets that is a blunt tool, so one method is also compared with
each other by Wilcoxon's signed-rank test, with Holm's correction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Ranking:
    """rank[method] (1 is best), the critical difference and the p-value of Friedman's test."""

    rank: dict[str, float]
    critical: float
    friedman: float
    n_sets: int


def ranking(table: dict[str, np.ndarray], *, higher_is_better: bool) -> Ranking:
    """table[method][set]; every method must have every set. Equal scores (to 1e-9) share their ranks."""
    values = np.round(np.stack(list(table.values()), axis=1), 9)  # set, method
    n, k = values.shape
    ranks = stats.rankdata(-values if higher_is_better else values, axis=1)
    q = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    return Ranking(
        rank=dict(zip(table, ranks.mean(axis=0).tolist(), strict=True)),
        critical=float(q * np.sqrt(k * (k + 1) / (6 * n))),
        friedman=float(stats.friedmanchisquare(*values.T).pvalue),
        n_sets=n,
    )


def against(table: dict[str, np.ndarray], one: str) -> dict[str, tuple[float, float]]:
    """(mean gain of `one`, Holm's p-value) against every other method."""
    others = [name for name in table if name != one]
    gains = [table[one] - table[name] for name in others]
    p = [1.0 if np.allclose(gain, 0, atol=1e-9) else float(stats.wilcoxon(gain).pvalue) for gain in gains]
    adjusted = holm(np.array(p))
    return {name: (float(g.mean()), float(a)) for name, g, a in zip(others, gains, adjusted, strict=True)}


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down adjustment."""
    order = np.argsort(p)
    steps = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    out = np.empty(len(p))
    out[order] = np.minimum(steps, 1)
    return out
