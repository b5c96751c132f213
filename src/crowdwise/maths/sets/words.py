"""Sets as bits, and how far two of them are apart.

MASI: 1 - J · M, where J is the share of common elements (Jaccard) and M is 1 for equal sets, 2/3 where one holds the
other, 1/3 where they overlap, 0 where they have nothing in common. Passonneau (2006), LREC, aclanthology.org/L06-1392.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
U8 = npt.NDArray[np.uint64]


def packed(row: npt.NDArray[Any], code: npt.NDArray[Any], n_rows: int, n_classes: int) -> U8:
    """words[row, class // 64] with a bit for each class that the row names."""
    n_words = max((n_classes + 63) // 64, 1)
    out = np.zeros((n_rows, n_words), dtype=np.uint64)
    bit = np.left_shift(np.uint64(1), (code % 64).astype(np.uint64))
    np.bitwise_or.at(out, (row, code // 64), bit)
    return out


def sizes(words: U8) -> npt.NDArray[np.int64]:
    """How many bits each row has."""
    return np.asarray(np.bitwise_count(words).sum(axis=1), dtype=np.int64)


def masi(words: U8, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> F8:
    """The MASI distance of rows i and j; two empty sets are the same."""
    a, b = words[i], words[j]
    both, either, left, right = sizes(a & b), sizes(a | b), sizes(a), sizes(b)
    jaccard = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    equal = both == either
    within = (both == left) | (both == right)
    kind = np.select([equal, (both > 0) & within, both > 0], [1.0, 2 / 3, 1 / 3], 0.0)
    return np.asarray(1.0 - jaccard * kind)
