"""Stable sorting of integer codes: a counting sort for many rows, numpy for few."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# Below this many rows numpy sorts faster than numba is imported.
COMPILED_FROM = 1_000_000


def order_by(
    major: npt.NDArray[np.int32], n_major: int, minor: npt.NDArray[np.int32], n_minor: int
) -> npt.NDArray[np.int64] | None:
    """Return the stable order by (major, minor); None if the rows are sorted already."""
    if len(major) < 2:
        return None
    key_step = np.diff(major)
    if bool(((key_step > 0) | ((key_step == 0) & (np.diff(minor) >= 0))).all()):
        return None
    row_bits = len(major).bit_length()
    if (n_major * n_minor).bit_length() + row_bits < 64:
        # Key and row number in one integer, which numpy sorts fast.
        key = major.astype(np.int64)
        key *= n_minor
        key += minor
        key <<= row_bits
        key |= np.arange(len(key))
        key.sort()
        key &= (1 << row_bits) - 1
        return key
    if len(major) < COMPILED_FROM:
        return np.lexsort((minor, major)).astype(np.int64, copy=False)
    from .order_kernels import counting_order

    first = counting_order(minor, n_minor)
    order = first[counting_order(major[first], n_major)]
    return np.asarray(order, dtype=np.int64)


def offsets(codes: npt.NDArray[np.int32], n: int) -> npt.NDArray[np.int64]:
    """Return the n + 1 offsets at which the rows of each code begin in sorted rows."""
    out = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=n), out=out[1:])
    return out
