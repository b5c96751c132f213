"""The mean field of a Potts model on a graph of tasks, centred so that it does not pull all into one class.

    q[n] ∝ exp(log p[n] + strength · (Σ_neighbours weight · q[neighbour] - degree[n] · mean q))

Without the second term a graph that is not clean drives every task into the largest class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

F8 = npt.NDArray[np.float64]
# Half of the old belief stays in each sweep, so that neighbours cannot swap classes for ever.
DAMPING = 0.5


class Graph:
    """Links of n nodes with weights, both ways."""

    def __init__(self, one: npt.NDArray[Any], two: npt.NDArray[Any], weight: F8, n: int) -> None:
        rows, columns = np.concatenate([one, two]), np.concatenate([two, one])
        self.table: Any = csr_array((np.concatenate([weight, weight]), (rows, columns)), shape=(n, n))
        self.degree: F8 = np.asarray(self.table.sum(axis=1), dtype=np.float64).ravel()

    def field(self, q: F8, mean: F8) -> F8:
        """Σ_neighbours weight · q - degree · mean."""
        return np.asarray(self.table @ q - self.degree[:, None] * mean)


def settle(graph: Graph, log_p: F8, q: F8, strength: float, sweeps: int) -> F8:
    """q after some sweeps of the mean field, from q."""
    for _ in range(sweeps):
        new = softmax(log_p + strength * graph.field(q, q.mean(axis=0)))
        q = DAMPING * q + (1 - DAMPING) * new
    return q


def softmax(x: F8) -> F8:
    """Rows as shares."""
    x = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(x / x.sum(axis=1, keepdims=True))
