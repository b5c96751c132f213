"""Matrices with one value on the diagonal and one off it: symmetric confusion matrices and their priors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import F8


def even(right: Any, wrong: Any, k: int) -> F8:
    """[..., k, k] with `right` on the diagonal and `wrong` elsewhere; both broadcast against [..., k, k].

    >>> even(4.0, 1.0, 2).tolist()
    [[4.0, 1.0], [1.0, 4.0]]
    """
    right, wrong = (np.asarray(values, dtype=np.float64) for values in (right, wrong))
    return np.asarray(np.where(np.eye(k, dtype=bool), right, wrong))


def coins(right: F8, k: int) -> F8:
    """Confusion matrices [..., true, observed] from right[...] or right[..., true] (last axis of length K).

    Errors are spread evenly. A single class is always right.

    >>> coins(np.array([0.8]), 3)[0, 0].round(3).tolist()
    [0.8, 0.1, 0.1]
    >>> coins(np.array([[0.8, 0.6]]), 2)[0, 1].tolist()
    [0.4, 0.6]
    """
    by_class = right[..., :, None] if right.ndim > 1 else right[..., None, None]
    if k == 1:
        return np.ones((*by_class.shape[:-2], 1, 1))
    return even(by_class, (1 - by_class) / (k - 1), k)
