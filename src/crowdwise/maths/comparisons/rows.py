"""Comparisons as arrays: who was asked about which two items, and which of them won."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
LEFT, RIGHT, TIE = 0, 1, 2


def total(codes: npt.NDArray[np.integer], values: npt.NDArray[Any], n: int) -> F8:
    """Sums of the values by code."""
    return np.asarray(np.bincount(codes, values, n), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class PairRows:
    """Row by row: left and right item, outcome (LEFT, RIGHT, TIE), worker, weight (None: all 1)."""

    left: npt.NDArray[np.integer]
    right: npt.NDArray[np.integer]
    outcome: npt.NDArray[np.integer]
    worker: npt.NDArray[np.integer]
    weight: F8 | None
    n_items: int
    n_workers: int

    def __len__(self) -> int:
        return len(self.left)

    @cached_property
    def weights(self) -> F8:
        """A weight for every row."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def share(self) -> F8:
        """What the left item won of each row: 1, 0, or 1/2 of a tie."""
        return np.asarray(np.array([1.0, 0.0, 0.5])[self.outcome])

    @cached_property
    def has_ties(self) -> bool:
        """Whether some row that counts is a tie."""
        return bool(((self.outcome == TIE) & (self.weights > 0)).any())

    @cached_property
    def mixed_sides(self) -> bool:
        """Whether items stand on both sides of the items that follow them by name."""
        first = self.left < self.right
        return len(self) < 20 or bool(first.any() and not first.all())

    @cached_property
    def pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], F8, F8]:
        """Each pair of items once: lower code, higher code, wins of either, a tie counted as half a win."""
        low, high = np.minimum(self.left, self.right).astype(np.int64), np.maximum(self.left, self.right)
        key, at = np.unique(low * self.n_items + high, return_inverse=True)
        first = np.where(self.left <= self.right, self.share, 1 - self.share)
        won = total(at, self.weights * first, len(key))
        lost = total(at, self.weights * (1 - first), len(key))
        return key // max(self.n_items, 1), key % max(self.n_items, 1), won, lost

    @cached_property
    def asked(self) -> F8:
        """Weight of the rows that an item is in."""
        both = np.concatenate([self.left, self.right])
        return total(both, np.concatenate([self.weights, self.weights]), self.n_items)

    @cached_property
    def component(self) -> npt.NDArray[np.int64]:
        """Which island of the graph of compared items each one lies on; the largest is 0, then by the first item."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        heard = self.weights > 0
        ones = np.ones(int(heard.sum()), dtype=np.int8)
        graph = coo_array((ones, (self.left[heard], self.right[heard])), shape=(self.n_items, self.n_items))
        found = connected_components(graph, directed=False, return_labels=True)[1].astype(np.int64)
        size = np.bincount(found, minlength=1)
        first = np.full(len(size), self.n_items)
        np.minimum.at(first, found, np.arange(self.n_items))
        rank = np.empty(len(size), dtype=np.int64)
        rank[np.lexsort((first, -size))] = np.arange(len(size))
        return rank[found]
