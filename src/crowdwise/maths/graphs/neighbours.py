"""Which tasks are alike by their features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# Pairs whose closeness is held at a time: 128 MB.
_CELLS = 16_000_000


def neighbours(features: npt.NDArray[Any], k: int = 10) -> npt.NDArray[np.int64]:
    """found[row, k]: the rows whose features go with this row's most closely, by the cosine of standardised columns."""
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
