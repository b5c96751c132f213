"""Mean field of a Potts model on a graph of tasks, centred so that it does not pull all tasks into one class.

    q[n] ∝ exp(log p[n] + strength · (Σ_neighbours weight · q[neighbour] - degree[n] · mean q))

Without the second term, a graph with noisy links drives every task into the largest class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ....core.arrays import F8, I8

# Share of the old posterior kept in each sweep, so that neighbours do not swap classes forever.
DAMPING = 0.5


class Graph:
    """Undirected weighted links of n nodes."""

    def __init__(self, one: npt.NDArray[Any], two: npt.NDArray[Any], weight: F8, n: int) -> None:
        rows, columns = np.concatenate([one, two]), np.concatenate([two, one])
        self.table: Any = csr_array((np.concatenate([weight, weight]), (rows, columns)), shape=(n, n))
        self.degree: F8 = np.asarray(self.table.sum(axis=1), dtype=np.float64).ravel()

    def field(self, q: F8, mean: F8) -> F8:
        """Σ_neighbours weight · q - degree · mean."""
        return np.asarray(self.table @ q - self.degree[:, None] * mean)


def mean_field(graph: Graph, log_p: F8, q: F8, strength: float, sweeps: int) -> F8:
    """Return q after some sweeps of the mean field, starting at q."""
    for _ in range(sweeps):
        new = softmax(log_p + strength * graph.field(q, q.mean(axis=0)))
        q = DAMPING * q + (1 - DAMPING) * new
    return q


def softmax(x: F8) -> F8:
    """Softmax of each row."""
    x = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(x / x.sum(axis=1, keepdims=True))


# ---------------------------------------------------------------- Neighbours of tasks by their features

# Pairs whose similarity is held in memory at a time: 128 MB.
_CELLS = 16_000_000


def neighbours(features: npt.NDArray[Any], k: int = 10) -> I8:
    """Return the k nearest rows [row, k] by the cosine of the standardised columns of their features."""
    x = np.asarray(features, dtype=np.float64)
    x = x.reshape(len(x), -1)
    spread = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    n = len(x)
    k = min(k, n - 1)
    out = np.empty((n, max(k, 0)), dtype=np.int64)
    step = max(1, _CELLS // max(n, 1))
    for lo in range(0, n if k > 0 else 0, step):
        close = x[lo : lo + step] @ x.T
        close[np.arange(len(close)), np.arange(lo, lo + len(close))] = -np.inf
        out[lo : lo + step] = np.argpartition(-close, k - 1, axis=1)[:, :k]
    return out
