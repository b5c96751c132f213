"""What workers say of which class, where a table for it would be far larger than what it is learnt from.

With thousands of classes the table reading[worker, observed, true] of `selection.reading` has billions of cells, nearly
all of them the crowd's. Only the rows of labels that somebody gave are ever asked for; here they are made when they are
asked for, a block at a time, from the labels behind them. The numbers are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kinds.classes.annotations import Annotations

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Cells of a block of rows: 16 MB.
BLOCK = 1 << 21
# A table of this size is made at once; so is one that has fewer rows than there are labels.
FREE = 2_000_000


def is_thin(votes: Annotations) -> bool:
    """Whether a table of all readings would be far larger than what it is learnt from."""
    cells = votes.n_workers * votes.n_classes**2
    return cells > FREE and cells > len(votes) * votes.n_classes


class ThinReading:
    """reading[worker, observed, true] by rows: expected counts, shrunk to the crowd's by `strength` labels a class."""

    def __init__(self, votes: Annotations, posterior: F8, strength: float) -> None:
        self.votes, self.posterior, self.strength = votes, posterior, strength
        heard = self._sums(votes.worker, votes.n_workers)
        self.of_worker = heard + strength  # worker, true
        self.of_crowd = heard.sum(axis=0) + 2.0

    def blocks(self, worker: npt.NDArray[Any], label: npt.NDArray[Any]) -> Iterator[tuple[I8, F8]]:
        """(rows, reading[worker[rows], label[rows]]) until all rows were given, those of one label together."""
        k = self.votes.n_classes
        order = np.lexsort((worker, label))
        step = max(BLOCK // k, 1)
        for lo in range(0, len(order), step):
            rows = order[lo : lo + step]
            yield rows, self._rows(worker[rows].astype(np.int64), label[rows].astype(np.int64))

    def posterior_under(self, prior: F8, gold: npt.NDArray[np.int32] | None) -> F8:
        """posterior[task, class] of the votes themselves, by these readings."""
        from scipy.sparse import csr_array

        votes, k = self.votes, self.votes.n_classes
        score = np.tile(np.log(prior), (votes.n_tasks, 1))
        for rows, said in self.blocks(votes.worker, votes.label):
            tasks, at = np.unique(votes.task[rows], return_inverse=True)
            weight = np.ones(len(rows)) if votes.weight is None else votes.weight[rows]
            of = csr_array((weight, (at, np.arange(len(rows)))), shape=(len(tasks), len(rows)))
            score[tasks] += of @ np.log(said, out=said)
        score -= score.max(axis=1, keepdims=True)
        np.exp(score, out=score)
        score /= score.sum(axis=1, keepdims=True)
        if gold is not None:
            known = np.flatnonzero(gold < k)
            score[known] = 0.0
            score[known, gold[known]] = 1.0
        return score

    def _rows(self, worker: I8, label: I8) -> F8:
        k = self.votes.n_classes
        cells, own = np.unique(label * self.votes.n_workers + worker, return_inverse=True)
        labels, theirs = np.unique(label, return_inverse=True)
        crowd = self._counts(labels, self._by_label)
        crowd += 1.0 / k  # a class that nobody has seen is at best called by its name
        crowd[np.arange(len(labels)), labels] += 1.0
        crowd *= self.strength / self.of_crowd
        out = self._counts(cells, self._by_cell)[own]
        out += crowd[theirs]
        out /= self.of_worker[worker]
        return out

    def _counts(self, wanted: I8, index: tuple[I8, Any]) -> F8:
        keys, sums = index
        at = np.searchsorted(keys, wanted)
        at[np.append(keys, -1)[at] != wanted] = len(keys)  # the last row is empty
        return np.asarray(sums[at] @ self.posterior)

    @cached_property
    def _by_label(self) -> tuple[I8, Any]:
        return self._index(self.votes.label.astype(np.int64))

    @cached_property
    def _by_cell(self) -> tuple[I8, Any]:
        return self._index(self.votes.label.astype(np.int64) * self.votes.n_workers + self.votes.worker)

    def _index(self, key: I8) -> tuple[I8, Any]:
        """The keys in use, and a sparse matrix [key, task] of the weights behind them, with an empty row at its end."""
        keys, at = np.unique(key, return_inverse=True)
        return keys, self._matrix(at, len(keys) + 1)

    def _sums(self, group: npt.NDArray[Any], n: int) -> F8:
        return np.asarray(self._matrix(group, n) @ self.posterior)

    def _matrix(self, group: npt.NDArray[Any], n: int) -> Any:
        from scipy.sparse import csr_array

        weight = np.ones(len(self.votes)) if self.votes.weight is None else self.votes.weight
        return csr_array((weight, (group, self.votes.task)), shape=(n, self.votes.n_tasks))
