"""Answers about pairs of items: who said of which two that they are the same, or different."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pairs:
    """One answer a row: left and right are items, same is 1 or 0; a weight w counts as w answers."""

    left: npt.NDArray[Any]
    right: npt.NDArray[Any]
    same: F8
    worker: npt.NDArray[Any]
    weight: F8
    n_items: int
    n_workers: int

    def __len__(self) -> int:
        return len(self.same)

    def take(self, rows: npt.NDArray[Any]) -> Pairs:
        """Some of the rows; items and workers stay."""
        return Pairs(self.left[rows], self.right[rows], self.same[rows], self.worker[rows], self.weight[rows],
                     self.n_items, self.n_workers)  # fmt: skip

    def matrix(self, value: F8) -> csr_array:
        """The symmetric matrix of the rows' values, summed over the rows of a pair."""
        n = self.n_items
        row, column = np.concatenate([self.left, self.right]), np.concatenate([self.right, self.left])
        return csr_array((np.concatenate([value, value]), (row, column)), shape=(n, n))

    @cached_property
    def degree(self) -> F8:
        """Answers about each item, weights counted."""
        both = np.concatenate([self.left, self.right])
        return np.bincount(both, weights=np.tile(self.weight, 2), minlength=self.n_items).astype(np.float64)

    @cached_property
    def components(self) -> tuple[int, I8]:
        """Islands of items between which nothing was asked, items without answers apart."""
        from scipy.sparse.csgraph import connected_components

        n, label = connected_components(self.matrix(np.ones(len(self))), directed=False)
        return int(n), np.asarray(label, dtype=np.int64)
