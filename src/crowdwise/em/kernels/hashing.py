"""Hashes of many short texts that are concatenated in one array."""

from __future__ import annotations

import numpy as np
from numba import njit

_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


@njit(cache=True, nogil=True)
def fnv_splitmix(data, lengths, out):
    """Set out[i] to the FNV-1a hash of the i-th text, passed through splitmix64's finaliser."""
    start = 0
    for i in range(len(lengths)):
        x = _BASIS
        for j in range(start, start + lengths[i]):
            x = (x ^ np.uint64(data[j])) * _PRIME
        start += lengths[i]
        x = (x ^ (x >> _S30)) * _FIRST
        x = (x ^ (x >> _S27)) * _SECOND
        out[i] = x ^ (x >> _S31)
