"""Isotonic means: the rising sequence nearest to what was seen (pool adjacent violators)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]


def rising(values: F8, weights: F8) -> F8:
    """The non-decreasing fit.

    >>> rising(np.array([0.2, 0.5, 0.4, 0.9]), np.array([1.0, 1.0, 1.0, 1.0])).round(3).tolist()
    [0.2, 0.45, 0.45, 0.9]
    """
    blocks: list[list[float]] = []  # mean, weight, length
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            b, a = blocks.pop(), blocks.pop()
            total = a[1] + b[1]
            mean = (a[0] * a[1] + b[0] * b[1]) / total if total > 0 else (a[0] + b[0]) / 2
            blocks.append([mean, total, a[2] + b[2]])
    return np.concatenate([np.full(int(length), mean) for mean, _, length in blocks]) if blocks else np.empty(0)
