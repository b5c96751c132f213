"""Outlines of many answers, in numba: how much of two answers is common, pixel by pixel, without masks in memory."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _flips(start, first, point, row, low, step, n, y, out):
    """Where the outlines of an answer cross the height y, each crossing counted at the first pixel to its right."""
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
def common_pixels(start, first, point, i, j, most, both, either):
    """Pixels in both and in either of answers i[p] and j[p], on at most about `most` pixels over all that they draw.

    The grid is that of maths/outlines/raster.grid, and a pixel is inside by the even-odd rule at its middle."""
    for p in range(i.size):
        low = np.full(2, np.inf)
        high = np.full(2, -np.inf)
        for row in (i[p], j[p]):
            for k in range(first[start[row]], first[start[row + 1]]):
                for d in range(2):
                    low[d] = min(low[d], point[k, d])
                    high[d] = max(high[d], point[k, d])
        both[p] = 0
        either[p] = 0
        if high[0] < low[0]:
            continue
        low, high = np.floor(low), np.ceil(high)
        wide = np.maximum(high - low, 1e-9)
        step = max(1.0, np.sqrt(wide[0] * wide[1] / most))
        if max(wide[0], wide[1]) < 4.0:
            step = np.sqrt(wide[0] * wide[1] / most)
        step = max(step, max(wide[0], wide[1]) / most)
        nx, ny = max(int(np.ceil(wide[0] / step)), 1), max(int(np.ceil(wide[1] / step)), 1)
        one, two = np.zeros(nx + 1, dtype=np.int64), np.zeros(nx + 1, dtype=np.int64)
        for r in range(ny):
            y = low[1] + (r + 0.5) * step
            one[:] = 0
            two[:] = 0
            _flips(start, first, point, i[p], low[0], step, nx, y, one)
            _flips(start, first, point, j[p], low[0], step, nx, y, two)
            a = b = 0
            for c in range(nx):
                a = (a + one[c]) % 2
                b = (b + two[c]) % 2
                both[p] += a * b
                either[p] += a + b - a * b


@njit(cache=True, nogil=True)
def count_codes(code, out):
    """How often each code occurs."""
    for i in range(code.size):
        out[code[i]] += 1
