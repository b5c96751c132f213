"""Sample moments of incomplete votes: overlap, agreement and joint label tables of pairs of workers.

R[m, m'][l, l'] = P(label_m = l, label_m' = l') is estimated from the tasks that both labelled. Given the truth, workers
err independently, so off the diagonal R = A_m^T diag(d) A_m'; pairs of a worker with itself are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.arrays import F8, I4, I8, Mask
from ....core.errors import DataError
from ....em.rows import row_weights

if TYPE_CHECKING:
    from ....em.rows import LabelRows


# Limits: pairs of labels on the same task that a sparse product may visit, and cells of all pair tables together.
MAX_LABEL_PAIRS = 200_000_000
MOST_CELLS = 200_000_000


@dataclass(frozen=True)
class PairAgreement:
    """Numbers of tasks that two workers share (n) and agree on (agree): scipy csr matrices, with an empty diagonal.

    A vote of weight two counts as two votes, and two votes paired with three as six.
    """

    n: Any
    agree: Any
    n_classes: int

    def skill_products(self) -> Any:
        """Return C[m, m'] = K/(K-1) · (agreement - 1/K) of overlapping workers (csr); its expectation is s_m s_m'."""
        c = self.agree.copy()
        k = self.n_classes
        c.data = (k * c.data / self.n.data - 1) / (k - 1)
        return c


def agreement(annotations: LabelRows) -> PairAgreement:
    """Compute pairwise overlap and agreement by one sparse product each; the cost is the sum over tasks of labels²."""
    from scipy.sparse import csr_array

    n_pairs = _n_label_pairs(annotations.task)
    if n_pairs > MAX_LABEL_PAIRS:
        raise DataError(
            f"comparing all pairs of workers would take {n_pairs:,.0f} pairs of labels (the largest task has "
            f"{int(annotations.labels_per_task.max()):,} labels), over the limit of {MAX_LABEL_PAIRS:,}; use a method "
            "that compares no pairs, such as majority_vote or hierarchical"
        )
    n, m, k = annotations.n_tasks, annotations.n_workers, annotations.n_classes
    weight = row_weights(annotations)
    task, worker = annotations.task.astype(np.int64), annotations.worker
    votes = csr_array((weight, (task, worker)), shape=(n, m))
    labels = csr_array((weight, (task * k + annotations.label, worker)), shape=(n * k, m))
    shared, same = (votes.T @ votes).tocoo(), (labels.T @ labels).tocsr()
    pair = (shared.row != shared.col) & (shared.data > 0)
    row, col, total = shared.row[pair], shared.col[pair], shared.data[pair]
    overlap = csr_array((total, (row, col)), shape=(m, m))
    overlap.sort_indices()
    row = np.repeat(np.arange(m), np.diff(overlap.indptr))
    # The two tables share one sparsity pattern, zeros included, so that their data can be divided element by element.
    agree = overlap.copy()
    agree.data = np.asarray(same[row, overlap.indices], dtype=np.float64).ravel() if len(row) else agree.data
    return PairAgreement(overlap, agree, k)


@dataclass(frozen=True)
class PairTables:
    """Label tables of pairs of workers: count[p, l, l'] over the tasks labelled by both first[p] < second[p]."""

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
        """R[p, l, l'], every table summing to one."""
        return np.asarray(self.count / self.n[:, None, None])

    def symmetric(self) -> tuple[I8, I8, F8]:
        """Return every pair in both orders: worker, other worker, count[p, worker's label, other's label]."""
        worker, other = np.concatenate([self.first, self.second]), np.concatenate([self.second, self.first])
        return worker, other, np.concatenate([self.count, self.count.transpose(0, 2, 1)])

    def overlap(self) -> F8:
        """Return overlap[worker], the number of tasks in common with others, summed over the worker's pairs."""
        n, m = self.n, self.n_workers
        tasks = np.bincount(self.first, weights=n, minlength=m) + np.bincount(self.second, weights=n, minlength=m)
        return tasks.astype(np.float64)

    def has_pairs(self) -> Mask:
        """Mask of the workers that are in some pair."""
        out = np.zeros(self.n_workers, dtype=bool)
        out[self.first] = out[self.second] = True
        return out


def rows_with_overlap(annotations: LabelRows, fewest: float, most: float) -> tuple[Mask, int]:
    """Mask of the rows of workers that may share `fewest` tasks with another one, and the number of workers dropped
    for cost.

    Workers with fewer labels on shared tasks are in no such pair, so nothing is lost. If the others still make more
    than `most` pairs of labels, only the busiest workers are kept.
    """
    task, worker = annotations.task, annotations.worker
    keep = np.ones(len(task), dtype=bool)
    for _ in range(10):
        is_shared = keep & (np.bincount(task[keep], minlength=annotations.n_tasks) > 1)[task]
        busy = np.bincount(worker[is_shared], minlength=annotations.n_workers)
        remaining = is_shared & (busy >= fewest)[worker]
        if remaining.sum() == keep.sum():
            break
        keep = remaining
    if _n_label_pairs(task[keep]) <= most:
        return keep, 0
    rank = np.empty(annotations.n_workers, dtype=np.int64)
    rank[np.argsort(-busy, kind="stable")] = np.arange(annotations.n_workers)
    row_rank = rank[worker]
    low, high = 1, int((busy > 0).sum())
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _n_label_pairs(task[keep & (row_rank < middle)]) <= most else (low, middle)
    return keep & (row_rank < low), int((busy >= fewest).sum()) - low


def _n_label_pairs(task: I4) -> float:
    """Number of ordered pairs of labels on the same task, the cost of a product over all pairs of workers."""
    return float((np.bincount(task).astype(np.float64) ** 2).sum()) if len(task) else 0.0


@dataclass(frozen=True)
class SparsePairTables:
    """Label tables of pairs of workers in sparse form: `value` at [pair, label, other_label]."""

    first: I8
    second: I8
    n: F8
    pair: I8
    label: I8
    other_label: I8
    value: F8
    n_workers: int
    n_classes: int

    def dense(self, start: int = 0, stop: int | None = None) -> PairTables:
        """Return the dense tables of the pairs from `start` to `stop`."""
        stop = len(self.first) if stop is None else min(stop, len(self.first))
        lo, hi = np.searchsorted(self.pair, [start, stop])
        count = np.zeros((stop - start, self.n_classes, self.n_classes))
        count[self.pair[lo:hi] - start, self.label[lo:hi], self.other_label[lo:hi]] = self.value[lo:hi]
        return PairTables(self.first[start:stop], self.second[start:stop], count, self.n_workers)

    def blocks(self, cells: int = 5_000_000) -> Iterator[PairTables]:
        """Iterate over dense tables with at most about this many cells at a time."""
        step = max(cells // max(self.n_classes, 1) ** 2, 1)
        for start in range(0, len(self.first), step):
            yield self.dense(start, start + step)


def sparse_pairs(annotations: LabelRows, min_overlap: float) -> SparsePairTables:
    """Label tables of all pairs with at least `min_overlap` tasks in common."""
    from scipy.sparse import csr_array

    m, k = annotations.n_workers, annotations.n_classes
    if annotations.weight is None:  # with weights, few rows may make a large overlap
        annotations = annotations.take(rows_with_overlap(annotations, min_overlap, np.inf)[0])
    weight = row_weights(annotations)
    cell = annotations.worker.astype(np.int64) * k + annotations.label
    labels = csr_array((weight, (cell, annotations.task)), shape=(m * k, annotations.n_tasks))
    products = (labels @ labels.T).tocoo()
    first, second = products.row // k, products.col // k
    upper = np.flatnonzero((first < second) & (products.data > 0))
    key = first[upper].astype(np.int64) * m + second[upper]
    keys, place = np.unique(key, return_inverse=True)
    n = np.bincount(place, weights=products.data[upper], minlength=len(keys)).astype(np.float64)
    enough = n >= min_overlap
    is_kept = enough[place]
    upper, place = upper[is_kept], (np.cumsum(enough) - 1)[place[is_kept]]
    order = np.argsort(place, kind="stable")
    upper, place, keys = upper[order], place[order], keys[enough]
    label, other_label = (products.row[upper] % k).astype(np.int64), (products.col[upper] % k).astype(np.int64)
    return SparsePairTables(keys // m, keys % m, n[enough], place, label, other_label, products.data[upper], m, k)


def pairs(annotations: LabelRows, min_overlap: float) -> PairTables:
    """Return `sparse_pairs` as dense tables.

    Raises:
        DataError: If the tables would not fit into memory.
    """
    tables = sparse_pairs(annotations, min_overlap)
    cells = len(tables.first) * tables.n_classes**2
    if cells > MOST_CELLS:
        raise DataError(
            f"{len(tables.first):,} pairs of workers × {tables.n_classes:,}² classes make {cells:,} cells, over the "
            f"limit of {MOST_CELLS:,}; use fewer classes, or a method that compares no pairs, such as majority_vote"
        )
    return tables.dense()


def leading(matrix: Any) -> tuple[float, F8]:
    """Return the largest eigenvalue of a symmetric (sparse) matrix and its eigenvector, with a non-negative sum."""
    if matrix.shape[0] <= 400:
        value, vector = np.linalg.eigh(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
    else:
        from scipy.sparse.linalg import eigsh

        # A fixed start vector makes results reproducible to the last bit.
        value, vector = eigsh(matrix, k=1, which="LA", v0=np.ones(matrix.shape[0]))
    top = np.asarray(vector[:, -1], dtype=np.float64)
    return float(value[-1]), -top if top.sum() < 0 else top


def complete_rank_one(
    first: I8, second: I8, n: F8, target: F8, start: F8, low: float, high: float, max_iter: int, tol: float
) -> tuple[F8, int, bool]:
    """Return the s in [low, high] that minimises sum n (target - s_first s_second)², the number of steps, and whether
    they converged.

    Projected gradient descent with a step size for each coordinate, from a row-wise bound on the curvature: with one
    common step size, workers with little overlap converge slowly.
    """
    from scipy.sparse import csr_array

    m = len(start)
    row, col = np.concatenate([first, second]), np.concatenate([second, first])
    weight = csr_array((np.tile(n, 2), (row, col)), shape=(m, m))
    weighted_target = csr_array((np.tile(n * target, 2), (row, col)), shape=(m, m))
    step = 1 / (4 * np.maximum(np.asarray(weight.sum(axis=1)), 1e-12))
    s = np.clip(start, low, high)
    for iteration in range(1, max_iter + 1):
        # (W ∘ (C - s s^T)) s without the dense s s^T
        new = np.clip(s + step * (weighted_target @ s - s * (weight @ s**2)), low, high)
        moved = float(np.abs(new - s).max(initial=0.0))
        s = new
        if moved <= tol:
            return s, iteration, True
    return s, max_iter, False
