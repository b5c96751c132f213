"""Numbers from 0 to 1 of tasks in parts, by their rank: counted in two passes, whatever the number of tasks.

A number is a whole number of units of 10^-DIGITS. The first pass counts blocks of 1,024 units (a million blocks, 8 MB
a table). A question about single numbers needs a second pass, which counts the units of the blocks that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from ..evaluation.guarantee.sequential import DIGITS

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
UNITS = 10**DIGITS
BITS = 10
BLOCK = 1 << BITS
BLOCKS = (UNITS >> BITS) + 1


def units(values: F8) -> I8:
    """Values in units, kept from 0 to UNITS."""
    return np.asarray(np.clip(np.rint(values * UNITS), 0, UNITS).astype(np.int64))


class Ranked:
    """`parts()` gives the numbers of all parts, one array after the other, as often as it is called."""

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
        """How many there are."""
        return int(self._before[-1])

    def at(self, rank: I8) -> F8:
        """The number at each rank, rounded; the lowest has rank 0."""
        block = np.searchsorted(self._before, rank, side="right") - 1
        inside = self.within(block)
        position = np.asarray(rank) - self._before[block]
        # The first unit up to which there are more numbers than the place.
        unit = (np.cumsum(inside, axis=1) <= position[:, None]).sum(axis=1)
        return np.asarray(np.round((block * BLOCK + unit) / UNITS, DIGITS))

    def below(self, value: F8) -> I8:
        """How many are lower than each value."""
        unit = units(value)
        block, low = unit >> BITS, unit & (BLOCK - 1)
        lower = np.arange(BLOCK) < low[:, None]
        above = np.asarray(value) > 1 + 0.5 / UNITS  # a value that no number has
        return np.where(above, self.n, self._before[block] + (self.within(block) * lower).sum(axis=1))

    def within(self, block: I8) -> I8:
        """count[i, unit]: how many numbers each of these blocks has at each of its units."""
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
