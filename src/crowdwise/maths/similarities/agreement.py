"""How alike two partitions are: adjusted Rand index, normalised mutual information, accuracy after matching."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .pairs import F8, I8


def table(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> F8:
    """counts[cluster of a, cluster of b]."""
    one, two = np.unique(a, return_inverse=True)[1], np.unique(b, return_inverse=True)[1]
    wide = int(two.max(initial=-1)) + 1
    flat = np.bincount(one * wide + two, minlength=(int(one.max(initial=-1)) + 1) * wide)
    return flat.reshape(-1, wide).astype(np.float64) if wide else np.zeros((0, 0))


def adjusted_rand(a: I8, b: I8) -> float:
    """Hubert & Arabie (1985), doi:10.1007/BF01908075; 1 where both put everything in one cluster."""
    counts = table(a, b)
    n = counts.sum()
    both, rows, columns = (float((x * (x - 1) / 2).sum()) for x in (counts, counts.sum(axis=1), counts.sum(axis=0)))
    pairs = n * (n - 1) / 2
    expected = rows * columns / pairs if pairs else 0.0
    top = (rows + columns) / 2
    return 1.0 if top == expected else float((both - expected) / (top - expected))


def mutual_information(a: I8, b: I8) -> float:
    """Normalised by the mean of the two entropies (Strehl & Ghosh 2002); 1 where both are one cluster."""
    counts = table(a, b)
    p = counts / max(counts.sum(), 1.0)
    one, two = _entropy(p.sum(axis=1)), _entropy(p.sum(axis=0))
    shared = one + two - _entropy(p.ravel())
    return 1.0 if one + two == 0 else float(max(0.0, 2 * shared / (one + two)))


def matched_accuracy(a: I8, b: I8) -> float:
    """Share of items in the right cluster after the best one-to-one matching of clusters."""
    from scipy.optimize import linear_sum_assignment

    counts = table(a, b)
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / max(counts.sum(), 1.0))


def _entropy(p: F8) -> float:
    some = p[p > 0]
    return float(-(some * np.log(some)).sum())
