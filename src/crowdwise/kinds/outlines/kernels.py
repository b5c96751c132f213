"""Numba kernels for outlines: common pixels of two answers, computed row by row without storing masks."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _flips(start, first, point, row, low, step, n, y, out):
    """Count the crossings of an answer's outlines with the height y, each at the first pixel to its right."""
    for o in range(start[row], start[row + 1]):
        a0, a1 = first[o], first[o + 1]
        if a1 - a0 < 3:
            continue
        for k in range(a0, a1):
            nxt = k + 1 if k + 1 < a1 else a0
            ya, yb = point[k, 1], point[nxt, 1]
            if (ya <= y) == (yb <= y):
                continue
            at = point[k, 0] + (y - ya) * (point[nxt, 0] - point[k, 0]) / (yb - ya)
            c = min(max(int(np.ceil((at - low) / step - 0.5)), 0), n)
            while c > 0 and low + (c - 0.5) * step >= at:
                c -= 1
            while c < n and low + (c + 0.5) * step < at:
                c += 1
            out[c] += 1


@njit(cache=True, nogil=True)
def common_pixels(start, first, point, i, j, max_pixels, intersection, union):
    """Count the pixels in both and in either of answers i[p] and j[p], on a grid of about `max_pixels` pixels at most.

    The grid is that of `maths.grid`. A pixel is inside by the even-odd rule at its centre.
    """
    for p in range(i.size):
        low = np.full(2, np.inf)
        high = np.full(2, -np.inf)
        for row in (i[p], j[p]):
            for k in range(first[start[row]], first[start[row + 1]]):
                for d in range(2):
                    low[d] = min(low[d], point[k, d])
                    high[d] = max(high[d], point[k, d])
        intersection[p] = 0
        union[p] = 0
        if high[0] < low[0]:
            continue
        low, high = np.floor(low), np.ceil(high)
        wide = np.maximum(high - low, 1e-9)
        step = max(1.0, np.sqrt(wide[0] * wide[1] / max_pixels))
        if max(wide[0], wide[1]) < 4.0:
            step = np.sqrt(wide[0] * wide[1] / max_pixels)
        step = max(step, max(wide[0], wide[1]) / max_pixels)
        nx, ny = max(int(np.ceil(wide[0] / step)), 1), max(int(np.ceil(wide[1] / step)), 1)
        first_flips, second_flips = np.zeros(nx + 1, dtype=np.int64), np.zeros(nx + 1, dtype=np.int64)
        for r in range(ny):
            y = low[1] + (r + 0.5) * step
            first_flips[:] = 0
            second_flips[:] = 0
            _flips(start, first, point, i[p], low[0], step, nx, y, first_flips)
            _flips(start, first, point, j[p], low[0], step, nx, y, second_flips)
            a = b = 0
            for c in range(nx):
                a = (a + first_flips[c]) % 2
                b = (b + second_flips[c]) % 2
                intersection[p] += a * b
                union[p] += a + b - a * b


@njit(cache=True, nogil=True)
def count_codes(code, out):
    """Count how often each code occurs."""
    for i in range(code.size):
        out[code[i]] += 1
