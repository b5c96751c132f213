"""Statistics that add up over shards, and that SQUAREM can carry along the path of EM.

Varadhan & Roland (2008), Scandinavian Journal of Statistics 35(2), doi:10.1111/j.1467-9469.2007.00585.x.

The leap is taken in the space of expected counts, not of parameters: counts are linear, an M-step maps whatever
comes out back into the model's own family, and one function serves one-coin and full matrices alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class Additive:
    """Arrays that add up, field by field; the first field sets the length of a leap."""

    def _arrays(self) -> list[F8]:
        return [getattr(self, field.name) for field in fields(self)]

    def __add__(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(self._arrays(), other._arrays(), strict=True)))

    def extrapolate(self, one: Self, two: Self) -> Self:
        """What these statistics and those of the next two steps point to, kept non-negative."""
        s0, s1, s2 = self._arrays(), one._arrays(), two._arrays()
        first = [b - a for a, b in zip(s0, s1, strict=True)]
        second = [c - b - d for b, c, d in zip(s1, s2, first, strict=True)]
        bend = float(np.sum(second[0] ** 2))
        if bend == 0.0:
            return two
        # Step length of scheme S3; -1 would be the plain step.
        alpha = min(-np.sqrt(float(np.sum(first[0] ** 2)) / bend), -1.0)
        leap = (a - 2 * alpha * d + alpha**2 * e for a, d, e in zip(s0, first, second, strict=True))
        return type(self)(*(np.maximum(a, 0.0) for a in leap))


def tree_sum(parts: Iterable[T], add: Callable[[T, T], T]) -> T:
    """The sum along a fixed binary tree over the parts' numbers: the same bits whoever worked them out, and when.

    Parts are taken one at a time, in order; no more than log2 of their number are held.
    """
    held: list[tuple[int, T]] = []  # (height, sum of 2^height parts), heights falling
    for part in parts:
        height, total = 0, part
        while held and held[-1][0] == height:
            total, height = add(held.pop()[1], total), height + 1
        held.append((height, total))
    if not held:
        raise ValueError("there is nothing to add up")
    total = held.pop()[1]
    while held:
        total = add(held.pop()[1], total)
    return total
