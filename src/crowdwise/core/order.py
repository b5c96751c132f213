"""Stable orders of integer codes: a counting sort where it pays, numpy elsewhere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# Below this many rows numpy's sort is done before numba is even imported.
COMPILED_FROM = 1_000_000


def order_by(
    major: npt.NDArray[np.int32], n_major: int, minor: npt.NDArray[np.int32], n_minor: int
) -> npt.NDArray[np.int64] | None:
    """The stable order by (major, minor); None when the rows are in that order already."""
    if len(major) < 2:
        return None
    key_step = np.diff(major)
    if bool(((key_step > 0) | ((key_step == 0) & (np.diff(minor) >= 0))).all()):
        return None
    row_bits = len(major).bit_length()
    if (n_major * n_minor).bit_length() + row_bits < 64:
        # Key and row number in one integer: numpy sorts these faster than numba is imported.
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
    """Where each code's rows begin in sorted rows: n + 1 places."""
    out = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=n), out=out[1:])
    return out
