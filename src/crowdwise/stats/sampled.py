"""Is this gold a random sample of the tasks? Is this batch like that one? Tests that can refute it, never prove it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# More tasks than this are compared by a sample of them: the gold is the smaller side.
MANY = 100_000


def shares_differ(first: I8, second: I8) -> float:
    """p of two rows of counts having one set of shares: Fisher's test for two classes, else chi squared, rare classes
    taken together."""
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
    """p of two samples having one distribution, by their ranks (ties counted, normal approximation)."""
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
    """The same from counts in bins in rising order."""
    both = (first + second).astype(float)
    n, total = float(first.sum()), float(both.sum())
    if n < 2 or total - n < 2:
        return 1.0
    from scipy.special import ndtr

    middle = np.cumsum(both) - both / 2 + 0.5
    mean = (total + 1) / 2
    spread = float(both @ (middle - mean) ** 2) / (total - 1)
    if spread <= 1e-12:
        return 1.0
    error = np.sqrt(spread / n * (total - n) / total)
    return float(2 * ndtr(-abs(first @ middle / n - mean) / error))


def holm(p: list[float]) -> list[float]:
    """p-values adjusted for their number, in their order (Holm 1979).

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
    mine: npt.NDArray[np.bool_], label: I8 | None, columns: Mapping[str, F8], strata: I8 | None = None
) -> dict[str, float]:
    """p-values, corrected for their number (Holm), of the tasks in `mine` being a random sample of all: by their labels
    (None: not tested) and by each column. With `strata`, a random sample within each of them."""
    p = {}
    if label is not None:
        k = int(label.max(initial=0)) + 1
        p["label"] = shares_differ(*(np.bincount(label[side], minlength=k) for side in (mine, ~mine)))
    parts = [np.ones(len(mine), dtype=bool)] if strata is None else [strata == s for s in np.unique(strata[mine])]
    for name, values in columns.items():
        tests = [rank_sum(values[mine & part], rest_of(values[part], mine[part])) for part in parts]
        p[name] = min(min(tests) * len(tests), 1.0)
    return dict(zip(p, holm(list(p.values())), strict=True))


def rest_of(values: F8, gold: npt.NDArray[np.bool_], seed: int = 0) -> F8:
    """What is not gold, of very many a random part."""
    left = np.flatnonzero(~gold)
    if len(left) > MANY:
        left = left[np.random.default_rng([seed, 0x5A3]).integers(len(left), size=MANY)]
    return np.asarray(values[left])
