"""Numbers of many tasks by their rank. Numbers that differ by less than 10^-DIGITS are one number.

What asks for ranks alone (ladders, scales of places) works on numbers in memory and on numbers in parts on disk.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
DIGITS = 9


class Ranks(Protocol):
    """Rounded numbers, the lowest has rank 0."""

    @property
    def n(self) -> int:
        """How many there are."""

    def at(self, rank: I8) -> F8:
        """The number at each rank."""

    def below(self, value: F8) -> I8:
        """How many are lower than each value."""


class Sorted:
    """Numbers in memory."""

    def __init__(self, values: F8) -> None:
        self._up = np.sort(np.round(values, DIGITS))

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self._up)

    def at(self, rank: I8) -> F8:
        """The number at each rank."""
        return np.asarray(self._up[rank])

    def below(self, value: F8) -> I8:
        """How many are lower than each value."""
        return np.searchsorted(self._up, value, side="left")


def up_to(ranks: Ranks, value: F8) -> I8:
    """How many are not higher than each value, which is one of the numbers."""
    return ranks.below(np.round(value + 10.0**-DIGITS, DIGITS))
