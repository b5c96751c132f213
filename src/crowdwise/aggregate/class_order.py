"""Classes in the order of their first appearance: in it their names cannot sway what is drawn, or how ties are broken.

A sampler draws with dice, eigenvectors and assignments break ties by position: renaming the classes would change their
answers. Classes that nobody named are alike in every way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..kinds.classes.annotations import Annotations
from .gold import Gold

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class ClassOrder:
    """rank[class] in the order of first appearance; the last `silent` ranks belong to classes that nobody named."""

    rank: I4
    silent: int

    @classmethod
    def of(cls, annotations: Annotations, gold: Gold | None) -> ClassOrder:
        """First by the rows (sorted by task and worker, whatever the labels), then by gold."""
        named = annotations.label if gold is None else np.concatenate([annotations.label, gold.label[gold.known]])
        classes, first = np.unique(named, return_index=True)
        rank = np.full(annotations.n_classes, -1, dtype=np.int32)
        rank[classes[np.argsort(first)]] = np.arange(len(classes))
        quiet = np.flatnonzero(rank < 0)
        rank[quiet] = np.arange(len(classes), annotations.n_classes)
        return cls(rank, len(quiet))

    def renamed(self, annotations: Annotations, gold: Gold | None) -> tuple[Annotations, Gold | None]:
        """The same votes and gold, classes numbered by their rank."""
        known = None if gold is None else Gold(self.gold(gold, annotations.n_tasks), gold.n_classes)
        return annotations.saying(self.rank[annotations.label]), known

    def gold(self, gold: Gold | None, n_tasks: int) -> I4:
        """Gold by rank; one past the last rank where the truth is not known."""
        k = len(self.rank)
        if gold is None:
            return np.full(n_tasks, k, dtype=np.int32)
        return np.append(self.rank, np.int32(k))[gold.label]

    def back(self, values: F8) -> F8:
        """values[..., rank] as values[..., class], silent classes sharing evenly."""
        values = values.copy()
        if self.silent > 1:
            quiet = values[..., -self.silent :]
            quiet[...] = quiet.mean(axis=-1, keepdims=True)
        return np.ascontiguousarray(values[..., self.rank])

    def back_square(self, table: F8) -> F8:
        """The same for table[worker, true, observed]; among silent classes, right and wrong stay apart."""
        table, s = table.copy(), self.silent
        if s > 1:
            table[:, :-s, -s:] = table[:, :-s, -s:].mean(axis=2, keepdims=True)
            table[:, -s:, :-s] = table[:, -s:, :-s].mean(axis=1, keepdims=True)
            block = table[:, -s:, -s:]  # a view
            right = np.einsum("wkk->w", block) / s
            wrong = (block.sum(axis=(1, 2)) - s * right) / (s * (s - 1))
            block[...] = np.where(np.eye(s, dtype=bool), right[:, None, None], wrong[:, None, None])
        return np.ascontiguousarray(table[:, self.rank][:, :, self.rank])
