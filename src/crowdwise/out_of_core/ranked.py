"""Ranks of numbers from 0 to 1 of tasks in parts, counted in two passes.

A number is a whole number of units of 10^-DIGITS. The first pass counts blocks of 1,024 units (a million blocks, 8 MB
a table). Exact numbers need a second pass, which counts the units of some blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ..core.arrays import F8, I8
from ..evaluation.guarantee.sequential import DIGITS

UNITS = 10**DIGITS
BITS = 10
BLOCK = 1 << BITS
BLOCKS = (UNITS >> BITS) + 1


def units(values: F8) -> I8:
    """Return values in units, clipped to 0 and UNITS."""
    return np.asarray(np.clip(np.rint(values * UNITS), 0, UNITS).astype(np.int64))


class Ranked:
    """Numbers by rank; each call of `parts()` iterates over the numbers of all parts."""

    def __init__(self, parts: Callable[[], Iterable[F8]]) -> None:
        self._parts = parts
        self.count, self.total = np.zeros(BLOCKS, dtype=np.int64), np.zeros(BLOCKS)
        for values in parts():
            block = units(values) >> BITS
            self.count += np.bincount(block, minlength=BLOCKS)
            self.total += np.bincount(block, weights=values, minlength=BLOCKS)
        self._before = np.concatenate([[0], np.cumsum(self.count)])
        self._counted: dict[int, I8] = {}

    @property
    def n(self) -> int:
        """Number of numbers."""
        return int(self._before[-1])

    def at(self, rank: I8) -> F8:
        """Return the number at each rank, rounded; the lowest has rank 0."""
        block = np.searchsorted(self._before, rank, side="right") - 1
        inside = self.within(block)
        position = np.asarray(rank) - self._before[block]
        # The first unit up to which there are more numbers than `position`.
        unit = (np.cumsum(inside, axis=1) <= position[:, None]).sum(axis=1)
        return np.asarray(np.round((block * BLOCK + unit) / UNITS, DIGITS))

    def below(self, value: F8) -> I8:
        """Return the number of lower numbers for each value."""
        unit = units(value)
        block, low = unit >> BITS, unit & (BLOCK - 1)
        lower = np.arange(BLOCK) < low[:, None]
        above = np.asarray(value) > 1 + 0.5 / UNITS  # higher than all numbers
        return np.where(above, self.n, self._before[block] + (self.within(block) * lower).sum(axis=1))

    def within(self, block: I8) -> I8:
        """Return count[i, unit]: numbers at each unit of these blocks."""
        uncounted = [b for b in np.unique(block).tolist() if b not in self._counted and self.count[b]]
        if uncounted:
            position = np.full(BLOCKS, -1, dtype=np.int64)
            position[uncounted] = np.arange(len(uncounted))
            counts = np.zeros(len(uncounted) * BLOCK, dtype=np.int64)
            for values in self._parts():
                unit = units(values)
                row = position[unit >> BITS]
                selected = np.flatnonzero(row >= 0)
                counts += np.bincount(row[selected] * BLOCK + (unit[selected] & (BLOCK - 1)), minlength=len(counts))
            self._counted.update(zip(uncounted, counts.reshape(-1, BLOCK), strict=True))
        nothing = np.zeros(BLOCK, dtype=np.int64)
        return np.stack([self._counted.get(b, nothing) for b in block.tolist()]) if len(block) else nothing[None][:0]
