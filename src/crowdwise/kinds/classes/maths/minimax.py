"""Labels under worker and task logits: posterior, log-likelihood, its gradient and curvature.

P(y_iw = l | z_i = k) = softmax_l(worker[w, k, l] + task[i, k, l])
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ....core.arrays import F8, I4
from ....em.kernels import COMPILED_FROM
from ....em.rows import LabelRows
from ....stats.logspace import normalise_rows, segment_sum

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Cells (row, true, observed) processed at a time, to fit the CPU cache.
BLOCK = 400_000
# Most cells of one task for the compiled pass; above, numpy works block by block.
ROOM = 4_000_000


@dataclass(frozen=True)
class Logits:
    """Result of one pass; gradients and bends (minus complete-data second derivatives) per logit."""

    posterior: F8
    log_likelihood: float
    worker: F8
    worker_bend: F8
    task: F8
    task_bend: F8


def minimax_pass(
    votes: LabelRows, worker: F8, task: F8 | None, gold: I4 | None = None, posterior: F8 | None = None
) -> Logits:
    """Make one pass over the votes, in numpy for small data and in numba for large data.

    Given a `posterior`, the log-likelihood is the expected one under it instead of the marginal one.
    """
    k = votes.n_classes
    cells = int(np.diff(votes.task_offsets).max(initial=0)) * k * k
    if len(votes) * k * k >= COMPILED_FROM and cells <= ROOM:
        return _compiled(votes, worker, task, gold, posterior)
    return _plain(votes, worker, task, gold, posterior)


def _plain(votes: LabelRows, worker: F8, task: F8 | None, gold: I4 | None, posterior: F8 | None) -> Logits:
    """Pass in numpy, block by block."""
    n, k = votes.n_tasks, votes.n_classes
    q_all = np.empty((n, k))
    slope, bend = np.zeros((votes.n_workers, k * k)), np.zeros((votes.n_workers, k * k))
    sizes = (n, k * k) if task is not None else (0, k * k)
    task_slope, task_bend = np.zeros(sizes), np.zeros(sizes)
    total = 0.0
    per_block = max(BLOCK // (k * k), 1)
    cuts = np.searchsorted(votes.task_offsets, np.arange(per_block, len(votes), per_block))
    edges = np.unique(np.concatenate([[0], cuts, [n]]))
    for lo, hi in pairwise(edges.tolist()):
        rows = slice(int(votes.task_offsets[lo]), int(votes.task_offsets[hi]))
        worker_of, task_of, label = votes.worker[rows], votes.task[rows], votes.label[rows]
        weight = np.ones(len(worker_of)) if votes.weight is None else votes.weight[rows]
        logits = worker[worker_of] if task is None else worker[worker_of] + task[task_of]  # row, true, observed
        p, norm = normalise_rows(logits.reshape(-1, k))
        p = p.reshape(-1, k, k)
        observed = np.take_along_axis(logits, label[:, None, None].astype(np.int64), axis=2)[:, :, 0]
        logs = (observed - norm.reshape(-1, k)) * weight[:, None]
        inside = votes.task_offsets[lo : hi + 1] - votes.task_offsets[lo]
        score = segment_sum(logs, inside) - np.log(k)
        q, value = _task_posterior(
            score, None if gold is None else gold[lo:hi], None if posterior is None else posterior[lo:hi]
        )
        q_all[lo:hi] = q
        total += value
        share = (q[task_of - lo] * weight[:, None])[:, :, None]  # row, true, 1
        expected = share * p
        curve = (expected - expected * p).reshape(-1, k * k)
        gradient = np.negative(expected, out=expected)
        gradient[np.arange(len(worker_of)), :, label] += share[:, :, 0]
        gradient = gradient.reshape(-1, k * k)
        by_worker = _by_worker(worker_of, votes.n_workers)
        slope += by_worker @ gradient
        bend += by_worker @ curve
        if task is not None:
            task_slope[lo:hi], task_bend[lo:hi] = segment_sum(gradient, inside), segment_sum(curve, inside)
    return Logits(q_all, total, *(x.reshape(-1, k, k) for x in (slope, bend, task_slope, task_bend)))


def _compiled(votes: LabelRows, worker: F8, task: F8 | None, gold: I4 | None, posterior: F8 | None) -> Logits:
    """Pass in numba, task by task."""
    from .logits_kernels import sweep

    n, k = votes.n_tasks, votes.n_classes
    free = np.zeros((0, k, k)) if task is None else np.ascontiguousarray(task)
    q, slope, bend = np.empty((n, k)), np.zeros(worker.shape), np.zeros(worker.shape)
    task_slope, task_bend = np.zeros(free.shape), np.zeros(free.shape)
    buffer = np.empty((int(np.diff(votes.task_offsets).max(initial=0)), k, k))
    weight = np.empty(0) if votes.weight is None else votes.weight
    gold_codes = np.empty(0, dtype=np.int32) if gold is None else gold
    target = np.empty((0, k)) if posterior is None else posterior
    total = sweep(
        votes.task_offsets, votes.worker, votes.label, weight, np.ascontiguousarray(worker), free, gold_codes, target,
        q, slope, bend, task_slope, task_bend, buffer,
    )  # fmt: skip
    return Logits(q, float(total), slope, bend, task_slope, task_bend)


def _task_posterior(score: F8, gold: I4 | None, posterior: F8 | None) -> tuple[F8, float]:
    """Posterior and value of the tasks, clamped to gold, or the expected value under a given posterior."""
    if posterior is not None:
        return posterior, float((posterior * score).sum())
    q, norm = normalise_rows(score)
    if gold is not None:
        k = score.shape[1]
        is_gold = np.flatnonzero(gold < k)
        norm[is_gold] = score[is_gold, gold[is_gold]]
        q[is_gold] = np.eye(k)[gold[is_gold]]
    return q, float(norm.sum())


def _by_worker(worker: I4, n_workers: int) -> csr_array:
    """Sparse matrix that sums rows by worker."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(worker)), (worker, np.arange(len(worker)))), shape=(n_workers, len(worker)))
