"""Variances of estimates whose tasks come in clusters: prompts of one document, turns of one conversation.

An estimate is the sum of the influence of every task. Influences of one cluster are summed before they are squared
(Liang & Zeger 1986), and two small-sample corrections follow from a random effect of the clusters whose intraclass
correlation is estimated: the factor that makes the sum of squares unbiased, and Satterthwaite's degrees of freedom
(Bell & McCaffrey 2002; Imbens & Kolesár 2016, doi:10.1162/REST_a_00552).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.arrays import F8, I8


class ClusteredVariance(NamedTuple):
    """Variance of an estimate, the degrees of freedom of its t interval, and the number of clusters."""

    variance: float
    freedom: float
    n_clusters: int


def intraclass(y: F8, cluster: I8) -> float:
    """Return the ANOVA estimate of the intraclass correlation, between 0 and 1; 0 if no cluster holds two values.

    >>> round(intraclass(np.array([1.0, 1, 0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2, 3, 3])), 3)
    0.571
    """
    _, code, size = np.unique(cluster, return_inverse=True, return_counts=True)
    n, m = len(y), len(size)
    if m < 2 or m == n:
        return 0.0
    mean = np.bincount(code, weights=y) / size
    between = float(size @ (mean - y.mean()) ** 2) / (m - 1)
    within = float(((y - mean[code]) ** 2).sum()) / (n - m)
    typical = (n - float(size @ size) / n) / (m - 1)
    total = between + (typical - 1) * within
    return float(np.clip((between - within) / total, 0, 1)) if total > 1e-300 else 0.0


def clustered_variance(influence: F8, cluster: I8, y: F8, sampled: I8) -> ClusteredVariance:
    """Return the variance of an estimate that is the sum of `influence[task]`, over clusters drawn at random.

    Args:
        influence: Influence of every task; they sum to about zero.
        cluster: Cluster of every task.
        y: Residuals of the tasks with a known value, for the corrections.
        sampled: The tasks with a known value.
    """
    _, code = np.unique(cluster, return_inverse=True)
    totals = np.bincount(code, weights=influence)
    size = np.bincount(code[sampled], minlength=len(totals)).astype(float)
    has_value = size > 0
    size, m = size[has_value], int(has_value.sum())
    rho = intraclass(y, code[sampled])
    spread = size * (1 - rho) + size**2 * rho  # of a cluster's sum
    share, whole = size / size.sum(), float(spread.sum())
    # Covariance of the sums about the common mean: diag(spread) - share spread' - spread share' + whole share share'
    expected = float((spread * (1 - 2 * share)).sum() + whole * share @ share)
    factor = whole / expected if expected > 1e-12 * whole else m / max(m - 1, 1)
    columns = np.stack([share, spread])
    middle = np.array([[whole, -1.0], [-1.0, 0.0]])
    inner = columns @ columns.T @ middle
    square = float(spread @ spread + 2 * np.trace(middle @ (columns * spread) @ columns.T) + np.trace(inner @ inner))
    freedom = min(expected**2 / square, m - 1) if square > 1e-300 else float(m - 1)
    return ClusteredVariance(float(totals @ totals) * factor, max(freedom, 1.0), m)


def design_effect(influence: F8, cluster: I8, y: F8, sampled: I8, level: float) -> float:
    """Return how many clustered values tell as much as one independent value.

    The variance of the estimate over that of independent tasks, times the square of the ratio of the t and the normal
    quantile. Dividing counts by it gives intervals of shares (Korn & Graubard 1998, Survey Methodology 24(2)). If no
    values differ, a cluster counts as one value.
    """
    from scipy.special import ndtri, stdtrit

    clustered = clustered_variance(influence, cluster, y, sampled)
    independent = float(influence @ influence) * len(sampled) / max(len(sampled) - 1, 1)
    tail = (1 + level) / 2
    widening = float(stdtrit(clustered.freedom, tail) / ndtri(tail)) ** 2
    if min(clustered.variance, independent) <= 1e-300:
        return widening * len(sampled) / max(clustered.n_clusters, 1)
    return widening * clustered.variance / independent


def clusters_expected(cluster: I8, n: int) -> float:
    """Return the mean number of clusters that n random tasks belong to."""
    from scipy.stats import hypergeom

    sizes, times = np.unique(np.bincount(cluster), return_counts=True)
    size, times = sizes[sizes > 0], times[sizes > 0]
    return float(times @ (1 - hypergeom.pmf(0, len(cluster), size, n)))
