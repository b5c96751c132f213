"""Polygons as pixels: the even-odd rule at the middle of every pixel, row by row, in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def fill(outlines: Sequence[F8], x: F8, y: F8) -> Mask:
    """mask[row, column]: which points (x[column], y[row]) lie inside one of the outlines; each is closed by itself."""
    out = np.zeros((len(y), len(x)), dtype=bool)
    for points in outlines:
        if len(points) >= 3:
            out |= _inside(points, x, y)
    return out


def _inside(points: F8, x: F8, y: F8) -> Mask:
    """Edges that cross a row's height flip everything to the right of where they cross."""
    a, b = points, np.roll(points, -1, axis=0)
    crosses = (a[:, 1][None] <= y[:, None]) != (b[:, 1][None] <= y[:, None])  # row, edge
    row, edge = np.nonzero(crosses)
    rise = b[edge, 1] - a[edge, 1]
    at = a[edge, 0] + (y[row] - a[edge, 1]) * (b[edge, 0] - a[edge, 0]) / rise
    column = np.searchsorted(x, at)
    flips = np.zeros((len(y), len(x) + 1), dtype=np.int64)
    np.add.at(flips, (row, column), 1)
    return np.asarray(np.cumsum(flips, axis=1)[:, :-1] % 2 == 1)


def grid(outlines: Sequence[F8], most: int) -> tuple[F8, F8]:
    """Middles of pixels over everything that is drawn: whole pixels, or larger ones where there are too many."""
    some = [points for points in outlines if len(points)]
    if not some:
        return np.zeros(0), np.zeros(0)
    every = np.concatenate(some)
    low, high = np.floor(every.min(axis=0)), np.ceil(every.max(axis=0))
    wide = np.maximum(high - low, 1e-9)
    step = max(1.0, float(np.sqrt(wide[0] * wide[1] / most)))
    if max(wide) < 4.0:  # shares of the picture, not pixels
        step = float(np.sqrt(wide[0] * wide[1] / most))
    step = max(step, float(wide.max()) / most)  # something long and thin has no more pixels than others
    n = np.maximum(np.ceil(wide / step).astype(np.int64), 1)
    return low[0] + (np.arange(n[0]) + 0.5) * step, low[1] + (np.arange(n[1]) + 0.5) * step


def trace(mask: Mask, x: F8, y: F8) -> list[F8]:
    """The outlines of a mask: closed ways along the edges of its pixels, inside on the left, corners only.

    Holes are outlines too: by the even-odd rule of all of them together (see `fill_even_odd`) the mask comes back.
    """
    if not mask.any():
        return []
    dx, dy = (float(each[1] - each[0]) if len(each) > 1 else 1.0 for each in (x, y))
    padded = np.pad(mask, 1)
    nexts: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for rows, start, end in (
        (padded[1:-1, 1:-1] & ~padded[:-2, 1:-1], (0, 0), (0, 1)),
        (padded[1:-1, 1:-1] & ~padded[1:-1, 2:], (0, 1), (1, 1)),
        (padded[1:-1, 1:-1] & ~padded[2:, 1:-1], (1, 1), (1, 0)),
        (padded[1:-1, 1:-1] & ~padded[1:-1, :-2], (1, 0), (0, 0)),
    ):
        for i, j in np.argwhere(rows).tolist():
            nexts.setdefault((i + start[0], j + start[1]), []).append((i + end[0], j + end[1]))
    out = []
    while nexts:
        first = next(iter(nexts))
        way, here, before = [first], first, None
        while True:
            there = nexts[here].pop()
            if not nexts[here]:
                del nexts[here]
            step = (there[0] - here[0], there[1] - here[1])
            if step == before:
                way.pop()
            way.append(there)
            before, here = step, there
            if here == first:
                break
        corner = np.array(way[:-1], dtype=np.float64)
        out.append(np.column_stack([x[0] - dx / 2 + corner[:, 1] * dx, y[0] - dy / 2 + corner[:, 0] * dy]))
    return out


def fill_even_odd(outlines: Sequence[F8], x: F8, y: F8) -> Mask:
    """Which points lie inside an odd number of outlines."""
    out = np.zeros((len(y), len(x)), dtype=bool)
    for points in outlines:
        if len(points) >= 3:
            out ^= _inside(points, x, y)
    return out
