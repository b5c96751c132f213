"""Tests of whether the gold tasks are a random sample, or whether two batches are alike."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8, I8

# If there are more tasks than this, a sample of them is compared with the gold.
MANY = 100_000


def shares_differ(first: I8, second: I8) -> float:
    """p-value of two rows of counts having the same shares.

    Fisher's test for two classes, else chi squared with rare classes pooled.
    """
    from scipy.stats import chi2_contingency, fisher_exact

    table = np.stack([first, second]).astype(np.int64)
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2 or not table.sum(axis=1).all():
        return 1.0
    if table.shape[1] > 2:
        expected = table.sum(axis=0) * (table.sum(axis=1).min() / table.sum())
        rare = expected < 5
        if rare.any():
            table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
            table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return 1.0
    if table.shape[1] == 2 and table.min() < 200:
        return float(fisher_exact(table)[1])
    return float(chi2_contingency(table, correction=False)[1])


def rank_sum(first: F8, second: F8) -> float:
    """p-value of two samples having the same distribution, by their ranks (with ties, normal approximation)."""
    from scipy.special import ndtr
    from scipy.stats import rankdata

    n, m = len(first), len(second)
    if n < 2 or m < 2:
        return 1.0
    ranks = rankdata(np.concatenate([first, second]))
    spread = float(ranks.var(ddof=1))
    if spread <= 1e-12:
        return 1.0
    # The mean rank of n drawn from n + m without replacement.
    error = np.sqrt(spread / n * m / (n + m))
    return float(2 * ndtr(-abs(ranks[:n].mean() - (n + m + 1) / 2) / error))


def rank_sum_of_counts(first: I8, second: I8) -> float:
    """Rank sum test from counts in bins in rising order."""
    total_counts = (first + second).astype(float)
    n, total = float(first.sum()), float(total_counts.sum())
    if n < 2 or total - n < 2:
        return 1.0
    from scipy.special import ndtr

    middle = np.cumsum(total_counts) - total_counts / 2 + 0.5
    mean = (total + 1) / 2
    spread = float(total_counts @ (middle - mean) ** 2) / (total - 1)
    if spread <= 1e-12:
        return 1.0
    error = np.sqrt(spread / n * (total - n) / total)
    return float(2 * ndtr(-abs(first @ middle / n - mean) / error))


def holm(p: list[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979), in their order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p)), key=p.__getitem__)
    out, so_far = [0.0] * len(p), 0.0
    for place, i in enumerate(order):
        so_far = max(so_far, min((len(p) - place) * p[i], 1.0))
        out[i] = so_far
    return out


def sample_tests(
    in_sample: npt.NDArray[np.bool_], label: I8 | None, columns: Mapping[str, F8], strata: I8 | None = None
) -> dict[str, float]:
    """Return p-values (Holm) of the tasks in `in_sample` being a random sample of all.

    Tested are their labels (None: not tested) and each column. With `strata`, a random sample within each of them.
    """
    p = {}
    if label is not None:
        k = int(label.max(initial=0)) + 1
        p["label"] = shares_differ(*(np.bincount(label[side], minlength=k) for side in (in_sample, ~in_sample)))
    parts = (
        [np.ones(len(in_sample), dtype=bool)] if strata is None else [strata == s for s in np.unique(strata[in_sample])]
    )
    for name, values in columns.items():
        tests = [rank_sum(values[in_sample & part], rest_of(values[part], in_sample[part])) for part in parts]
        p[name] = min(min(tests) * len(tests), 1.0)
    return dict(zip(p, holm(list(p.values())), strict=True))


def rest_of(values: F8, gold: npt.NDArray[np.bool_], seed: int = 0) -> F8:
    """Return the values that are not gold, or a random part of very many."""
    others = np.flatnonzero(~gold)
    if len(others) > MANY:
        others = others[np.random.default_rng([seed, 0x5A3]).integers(len(others), size=MANY)]
    return np.asarray(values[others])
