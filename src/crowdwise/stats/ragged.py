"""Lists of different lengths in flat arrays: list g has size[g] elements from first[g] on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8, I8


def starts(size: npt.NDArray[Any]) -> I8:
    """Return the start of each list, and the end of the last one: 0, s0, s0 + s1, ..."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(size, dtype=np.int64)])


def ranges(first: I8, size: I8) -> I8:
    """Return the elements of these lists: first[0], first[0] + 1, ... (size[0] numbers), then those of the next."""
    begins = starts(size)
    return np.repeat(np.asarray(first, dtype=np.int64) - begins[:-1], size) + np.arange(begins[-1])


def spread(first: I8, size: I8) -> tuple[I8, I8]:
    """Return (list, element) for every element of these lists."""
    return np.repeat(np.arange(len(size), dtype=np.int64), size), ranges(first, size)


def sums(values: F8, group: npt.NDArray[Any], n: int) -> F8:
    """Return the sum of the values of each group."""
    return np.asarray(np.bincount(group, weights=values, minlength=n), dtype=np.float64)
