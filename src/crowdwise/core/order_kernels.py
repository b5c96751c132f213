"""A counting sort of integer codes, compiled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit


@njit(cache=True, nogil=True)
def _counting_order(keys, n):
    place = np.zeros(n + 1, dtype=np.int64)
    for key in keys:
        place[key + 1] += 1
    for j in range(n):
        place[j + 1] += place[j]
    order = np.empty(keys.size, dtype=np.int64)
    for row in range(keys.size):
        key = keys[row]
        order[place[key]] = row
        place[key] += 1
    return order


def counting_order(keys: npt.NDArray[np.int32], n: int) -> npt.NDArray[np.int64]:
    """Return the stable order of integer keys below n, in linear time."""
    return np.asarray(_counting_order(keys, n), dtype=np.int64)
