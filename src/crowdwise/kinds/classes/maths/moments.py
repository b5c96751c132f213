"""Sample moments of a crowd with gaps: who labelled the same tasks, how often they agree, and what they said.

R[m, m'][l, l'] = P(label_m = l, label_m' = l') is estimated from the tasks that both labelled. Given the truth, workers
err independently, so off the diagonal R = A_m^T diag(d) A_m'; a worker paired with themselves is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ....core.errors import DataError

if TYPE_CHECKING:
    from ....em.rows import LabelRows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Meetings of two labels that a product may go through, and cells that all tables of pairs may have.
MOST_MEETINGS = 200_000_000
MOST_CELLS = 200_000_000


@dataclass(frozen=True)
class Agreement:
    """How many tasks two workers share (n) and agree on (agree): scipy csr matrices [worker, worker], diagonal empty.

    A vote of weight two counts as two votes, two votes against three as six.
    """

    n: Any
    agree: Any
    n_classes: int

    def skill_products(self) -> Any:
        """C[m, m'] = K/(K-1) · (agreement - 1/K), where there is any overlap: expected to be s_m s_m' (csr)."""
        c = self.agree.copy()
        k = self.n_classes
        c.data = (k * c.data / self.n.data - 1) / (k - 1)
        return c


def agreement(annotations: LabelRows) -> Agreement:
    """Pairwise overlap and agreement, one sparse product each; cost: the sum over tasks of labels²."""
    from scipy.sparse import csr_array

    meetings = _meetings(annotations.task)
    if meetings > MOST_MEETINGS:
        raise DataError(
            f"comparing all pairs of workers would take {meetings:,.0f} meetings of two labels (the fullest task has "
            f"{int(annotations.labels_per_task.max()):,}), over the limit of {MOST_MEETINGS:,}; take a method that "
            "compares no pairs, like majority_vote or hierarchical"
        )
    n, m, k = annotations.n_tasks, annotations.n_workers, annotations.n_classes
    weight = np.ones(len(annotations)) if annotations.weight is None else annotations.weight
    task, worker = annotations.task.astype(np.int64), annotations.worker
    who = csr_array((weight, (task, worker)), shape=(n, m))
    said = csr_array((weight, (task * k + annotations.label, worker)), shape=(n * k, m))
    both, same = (who.T @ who).tocoo(), (said.T @ said).tocsr()
    pair = (both.row != both.col) & (both.data > 0)
    row, col, total = both.row[pair], both.col[pair], both.data[pair]
    overlap = csr_array((total, (row, col)), shape=(m, m))
    overlap.sort_indices()
    row = np.repeat(np.arange(m), np.diff(overlap.indptr))
    # The two tables share one pattern, zeros included, so that their data can be divided place by place.
    agree = overlap.copy()
    agree.data = np.asarray(same[row, overlap.indices], dtype=np.float64).ravel() if len(row) else agree.data
    return Agreement(overlap, agree, k)


@dataclass(frozen=True)
class Pairs:
    """Label tables of pairs of workers: count[p, l, l'] over the tasks that first[p] < second[p] both labelled."""

    first: I8
    second: I8
    count: F8
    n_workers: int

    @property
    def n(self) -> F8:
        """Tasks in common."""
        return np.asarray(self.count.sum(axis=(1, 2)))

    @property
    def share(self) -> F8:
        """R[p, l, l'], each table summing to one."""
        return np.asarray(self.count / self.n[:, None, None])

    def both_ways(self) -> tuple[I8, I8, F8]:
        """Every pair seen from either side: me, other, count[p, mine, other's]."""
        me, other = np.concatenate([self.first, self.second]), np.concatenate([self.second, self.first])
        return me, other, np.concatenate([self.count, self.count.transpose(0, 2, 1)])

    def overlap(self) -> F8:
        """overlap[worker]: tasks in common with others, summed over their pairs."""
        n, m = self.n, self.n_workers
        both = np.bincount(self.first, weights=n, minlength=m) + np.bincount(self.second, weights=n, minlength=m)
        return both.astype(np.float64)

    def reached(self) -> npt.NDArray[np.bool_]:
        """Which workers are in some pair."""
        out = np.zeros(self.n_workers, dtype=bool)
        out[self.first] = out[self.second] = True
        return out


def rows_that_meet(annotations: LabelRows, fewest: float, most: float) -> tuple[npt.NDArray[np.bool_], int]:
    """Rows of workers who may share `fewest` tasks with somebody, and how many workers were left out beyond that.

    Who has fewer labels on tasks that others labelled too is in no such pair, so nothing is lost. Where the rest still
    makes more than `most` meetings of two labels, only the busiest workers are kept.
    """
    task, worker = annotations.task, annotations.worker
    keep = np.ones(len(task), dtype=bool)
    for _ in range(10):
        met = keep & (np.bincount(task[keep], minlength=annotations.n_tasks) > 1)[task]
        busy = np.bincount(worker[met], minlength=annotations.n_workers)
        left = met & (busy >= fewest)[worker]
        if left.sum() == keep.sum():
            break
        keep = left
    if _meetings(task[keep]) <= most:
        return keep, 0
    rank = np.empty(annotations.n_workers, dtype=np.int64)
    rank[np.argsort(-busy, kind="stable")] = np.arange(annotations.n_workers)
    here = rank[worker]
    low, high = 1, int((busy > 0).sum())
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _meetings(task[keep & (here < middle)]) <= most else (low, middle)
    return keep & (here < low), int((busy >= fewest).sum()) - low


def _meetings(task: npt.NDArray[np.int32]) -> float:
    """Ordered pairs of labels of one task: what a product over all pairs of workers costs."""
    return float((np.bincount(task).astype(np.float64) ** 2).sum()) if len(task) else 0.0


@dataclass(frozen=True)
class SparsePairs:
    """The label tables of pairs of workers, cell by cell: `value` at [place, own, other's]."""

    first: I8
    second: I8
    n: F8
    place: I8
    own: I8
    other: I8
    value: F8
    n_workers: int
    n_classes: int

    def dense(self, start: int = 0, stop: int | None = None) -> Pairs:
        """The tables themselves, of some of the pairs."""
        stop = len(self.first) if stop is None else min(stop, len(self.first))
        lo, hi = np.searchsorted(self.place, [start, stop])
        count = np.zeros((stop - start, self.n_classes, self.n_classes))
        count[self.place[lo:hi] - start, self.own[lo:hi], self.other[lo:hi]] = self.value[lo:hi]
        return Pairs(self.first[start:stop], self.second[start:stop], count, self.n_workers)

    def blocks(self, cells: int = 5_000_000) -> Iterator[Pairs]:
        """`dense`, so many cells at a time."""
        step = max(cells // max(self.n_classes, 1) ** 2, 1)
        for start in range(0, len(self.first), step):
            yield self.dense(start, start + step)


def sparse_pairs(annotations: LabelRows, min_overlap: float) -> SparsePairs:
    """The label tables of all pairs with at least `min_overlap` tasks in common."""
    from scipy.sparse import csr_array

    m, k = annotations.n_workers, annotations.n_classes
    if annotations.weight is None:  # a row of a large weight counts as many
        annotations = annotations.take(rows_that_meet(annotations, min_overlap, np.inf)[0])
    weight = np.ones(len(annotations)) if annotations.weight is None else annotations.weight
    cell = annotations.worker.astype(np.int64) * k + annotations.label
    said = csr_array((weight, (cell, annotations.task)), shape=(m * k, annotations.n_tasks))
    both = (said @ said.T).tocoo()
    first, second = both.row // k, both.col // k
    upper = np.flatnonzero((first < second) & (both.data > 0))
    key = first[upper].astype(np.int64) * m + second[upper]
    found, place = np.unique(key, return_inverse=True)
    n = np.bincount(place, weights=both.data[upper], minlength=len(found)).astype(np.float64)
    enough = n >= min_overlap
    here = enough[place]
    upper, place = upper[here], (np.cumsum(enough) - 1)[place[here]]
    order = np.argsort(place, kind="stable")
    upper, place, found = upper[order], place[order], found[enough]
    own, other = (both.row[upper] % k).astype(np.int64), (both.col[upper] % k).astype(np.int64)
    return SparsePairs(found // m, found % m, n[enough], place, own, other, both.data[upper], m, k)


def pairs(annotations: LabelRows, min_overlap: float) -> Pairs:
    """`sparse_pairs` as tables; refused where these would not fit into memory."""
    seen = sparse_pairs(annotations, min_overlap)
    cells = len(seen.first) * seen.n_classes**2
    if cells > MOST_CELLS:
        raise DataError(
            f"{len(seen.first):,} pairs of workers × {seen.n_classes:,}² classes make {cells:,} cells, over the limit "
            f"of {MOST_CELLS:,}; take fewer classes, or a method that compares no pairs, like majority_vote"
        )
    return seen.dense()


def leading(matrix: Any) -> tuple[float, F8]:
    """The largest eigenvalue of a symmetric (sparse) matrix and its vector, with a sum that is not negative."""
    if matrix.shape[0] <= 400:
        value, vector = np.linalg.eigh(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
    else:
        from scipy.sparse.linalg import eigsh

        # A fixed start: the same data give the same bits.
        value, vector = eigsh(matrix, k=1, which="LA", v0=np.ones(matrix.shape[0]))
    top = np.asarray(vector[:, -1], dtype=np.float64)
    return float(value[-1]), -top if top.sum() < 0 else top


def complete_rank_one(
    first: I8, second: I8, n: F8, target: F8, start: F8, low: float, high: float, max_iter: int, tol: float
) -> tuple[F8, int, bool]:
    """s in [low, high] with the least sum n (target - s_first s_second)², the number of steps, whether they settled.

    Projected gradient descent; each coordinate has its own step, by a row-wise bound on the curvature: with one step
    for all, workers of little overlap crawl.
    """
    from scipy.sparse import csr_array

    m = len(start)
    row, col = np.concatenate([first, second]), np.concatenate([second, first])
    weight = csr_array((np.tile(n, 2), (row, col)), shape=(m, m))
    pull = csr_array((np.tile(n * target, 2), (row, col)), shape=(m, m))
    step = 1 / (4 * np.maximum(np.asarray(weight.sum(axis=1)), 1e-12))
    s = np.clip(start, low, high)
    for iteration in range(1, max_iter + 1):
        # (W ∘ (C - s s^T)) s without the dense s s^T
        new = np.clip(s + step * (pull @ s - s * (weight @ s**2)), low, high)
        moved = float(np.abs(new - s).max(initial=0.0))
        s = new
        if moved <= tol:
            return s, iteration, True
    return s, max_iter, False
