"""Predict every label from the other labels of its task, with confusion matrices that leave that label out.

For row e (worker w, label l, task i) and a current posterior q, a worker's confusion matrix is estimated without e:

    theta[k] = (counts[w, l, k] - q[i, k] + s · base[k]) / (counts[w, ·, k] - q[i, k] + s)

`base` is either the pooled confusion of all workers or the worker's own accuracy and wrong-label distribution (as in
MACE), and `s` is one of STRENGTHS. Each worker gets the mixture of the resulting estimates that predicts this worker's
labels best; the mixture's prior over the crowd is fitted by EM. This gives adversaries, constant workers and careful
workers a suitable amount of shrinkage.

The posterior of the task without e, tempered by a power b, then predicts the label:

    P_b(label e | rest) = sum_k p_k theta[k],    p_k ∝ prior[k] · prod_{e' ≠ e} theta_e'[k]^b

If errors are independent given the class, b = 1 predicts best. If the labels of a task share errors, many labels carry
less evidence and the best b is below 1: this is the test of fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.arrays import F8, I4, I8, Mask
from ....em.kernels import Workspace, shared_pool, transposed
from ....em.loop import Additive
from ....em.rows import LabelRows, row_weights
from ....stats.logspace import normalise_rows, segment_sum

# ----------------------------------------------------------------
# Sums over the votes of the same worker on the same task, for every row.


@dataclass(frozen=True, eq=False)
class SameWorkerVotes:
    """Votes of each row's worker on the row's task: their weight, the weight of those for the row's label, and their
    expected number of hits. With one vote per worker and task, this is the row itself."""

    weight: F8
    same: F8
    hit: F8

    @classmethod
    def of(cls, rows: LabelRows, q: F8) -> SameWorkerVotes:
        """Compute the sums; rows are sorted by task, then worker."""
        weight: F8 = row_weights(rows)
        hit = weight * q[rows.task, rows.label]
        repeated = (rows.task[1:] == rows.task[:-1]) & (rows.worker[1:] == rows.worker[:-1])
        if not repeated.any():
            return cls(weight, weight, hit)
        at = np.cumsum(np.r_[True, ~repeated]) - 1
        same = np.unique(at * np.int64(q.shape[1]) + rows.label, return_inverse=True)[1]
        return cls(group_sums(at, weight), group_sums(same, weight), group_sums(at, hit))


def group_sums(group: I8, values: F8) -> F8:
    """Return, for each row, the sum of the values in its group."""
    return np.bincount(group, weights=values).astype(np.float64)[group]


STRENGTHS = np.array([1.0, 8.0, 64.0])
# Two kinds of base for every strength: the pooled confusion, then the worker's own accuracy.
N_ESTIMATES = 2 * len(STRENGTHS)
# Index of the initial estimate: pooled confusion with a medium strength.
PLAIN = 1
# Pseudo-labels that shrink a worker's accuracy and wrong-label distribution to the crowd's.
WORKER_PRIOR = 2.0
FLOOR = 1e-6
# Powers at which labels are predicted. Every second power is twice the last, so likelihoods are squared.
POWERS = 0.125 * 2.0 ** (np.arange(9) / 2)
ONE = 6  # POWERS[ONE] is 1
# Estimates with a smaller share are dropped from a worker's mixture.
NEGLIGIBLE = 0.01


@dataclass(frozen=True, eq=False)
class LeaveOutTables:
    """Sufficient statistics of a posterior: expected counts[worker, observed, true] and derived quantities."""

    counts: F8
    total: F8  # worker, true
    hits: F8  # worker: expected number of right labels
    n: F8  # worker: number of labels
    wrong: F8  # worker, observed: expected number of wrong labels
    accuracy: float  # of the crowd
    wrong_share: F8  # observed: of the crowd's wrong labels
    pooled: F8  # observed, true
    log_prior: F8

    @classmethod
    def of(cls, counts: F8, mass: F8) -> LeaveOutTables:
        """Compute the tables from expected counts and the sum of the posterior over tasks."""
        k = len(mass)
        counts = np.ascontiguousarray(counts)
        right = np.einsum("wkk->wk", counts)
        n = counts.sum(axis=(1, 2))
        wrong = np.maximum(counts.sum(axis=2) - right, 0.0)
        share = wrong.sum(axis=0) + 0.5
        pooled = counts.sum(axis=0) + 0.5
        return cls(
            counts=counts,
            total=np.einsum("wot->wt", counts),  # several times as fast as counts.sum(axis=1)
            hits=right.sum(axis=1),
            n=n,
            wrong=wrong,
            accuracy=float((right.sum() + 1) / (n.sum() + 2)),
            wrong_share=share / share.sum(),
            pooled=pooled / pooled.sum(axis=0),
            log_prior=np.log((mass + 1) / (mass.sum() + k)),
        )

    def confusion(self, mixture: F8) -> F8:
        """Return theta[worker, true, observed] with no label left out."""
        k = self.counts.shape[1]
        own_accuracy = (self.hits + WORKER_PRIOR * self.accuracy) / (self.n + WORKER_PRIOR)
        share = self.wrong + WORKER_PRIOR * self.wrong_share
        worker_base = ((1 - own_accuracy)[:, None] * share / share.sum(axis=1, keepdims=True))[:, :, None] * np.ones(k)
        worker_base = worker_base + own_accuracy[:, None, None] * np.eye(k)
        out = np.zeros_like(self.counts)
        for j in range(N_ESTIMATES):
            s = STRENGTHS[j % len(STRENGTHS)]
            base = self.pooled[None] if j < len(STRENGTHS) else worker_base
            out += mixture[:, j, None, None] * (self.counts + s * base) / (self.total[:, None, :] + s)
        out /= out.sum(axis=1, keepdims=True)
        return transposed(out)


@dataclass(frozen=True)
class Predictions(Additive):
    """Sums over rows: curve[power] of log P_b(label), `weight` of the rows, and scores[estimate, worker] at b = 1."""

    curve: F8
    weight: F8
    scores: F8

    @property
    def best(self) -> float:
        """Log-likelihood of each label given the others, under the estimate that predicts the crowd best."""
        return float(self.scores.sum(axis=1).max())


def posterior_of(space: Workspace, q: F8, tables: LeaveOutTables, mixture: F8, source: I4 | None = None) -> F8:
    """Return posterior[task, class] under leave-one-out estimates; mixture[worker, estimate] sums to one."""
    chosen = np.ones(space.shard.n_tasks, dtype=bool)
    kernel = _compiled if space.compiled else _plain
    return kernel(space, q, tables, mixture, source, chosen, 0)[0]


def predictions(
    space: Workspace,
    q: F8,
    tables: LeaveOutTables,
    mixture: F8 | None = None,
    source: I4 | None = None,
    *,
    step: int = 1,
    all_powers: bool = False,
) -> Predictions:
    """Score how well each label is predicted by the others of its task.

    Args:
        space: The rows of votes and their gold.
        q: posterior[task, class].
        tables: Sufficient statistics of `q` over all rows.
        mixture: mixture[worker, estimate]; by default PLAIN for all workers.
        source: source[worker]. Workers of the same source are left out together; by default every worker is one.
        step: Use one in every `step` tasks.
        all_powers: Compute the curve at all powers instead of b = 1 only.
    """
    if mixture is None:
        mixture = np.zeros((space.shard.n_workers, N_ESTIMATES))
        mixture[:, PLAIN] = 1.0
    chosen = (np.arange(space.shard.n_tasks) + space.first) % step == 0
    kernel = _compiled if space.compiled else _plain
    return kernel(space, q, tables, mixture, source, chosen, 2 if all_powers else 1)[1]


def fit_mixture(scores: F8, rounds: int = 20) -> F8:
    """Return mixture[worker, estimate] for scores[estimate, worker]; its prior over the crowd is fitted by EM."""
    prior = np.full(len(scores), 1 / len(scores))
    for _ in range(rounds):
        log = np.log(prior)[:, None] + scores
        log -= log.max(axis=0)
        share = np.exp(log)
        share /= share.sum(axis=0)
        prior = (share.sum(axis=1) + 0.5) / (share.shape[1] + 0.5 * len(scores))
    share = np.where(share < NEGLIGIBLE, 0.0, share)
    share /= share.sum(axis=0)
    return np.ascontiguousarray(share.T)


def row_estimates(space: Workspace, q: F8, tables: LeaveOutTables, own_votes: SameWorkerVotes, estimate: int) -> F8:
    """Return theta[row, true], the probability of the row's label estimated without the worker's votes on the task."""
    rows = space.shard
    s = STRENGTHS[estimate % len(STRENGTHS)]
    posterior = q[rows.task]
    if estimate < len(STRENGTHS):
        base = tables.pooled[rows.label]
    else:
        at, w, label = np.arange(len(rows)), rows.worker, rows.label
        accuracy = (tables.hits[w] - own_votes.hit + WORKER_PRIOR * tables.accuracy) / (
            tables.n[w] - own_votes.weight + WORKER_PRIOR
        )
        miss = own_votes.same * (1 - posterior[at, label])
        share = (tables.wrong[w, label] - miss + WORKER_PRIOR * tables.wrong_share[label]) / (
            tables.wrong.sum(axis=1)[w] - (own_votes.weight - own_votes.hit) + WORKER_PRIOR
        )
        base = np.repeat(((1 - accuracy) * share)[:, None], q.shape[1], axis=1)
        base[at, label] += accuracy
    counts = tables.counts.reshape(-1, q.shape[1])[rows.cell]
    counts = counts - own_votes.same[:, None] * posterior
    return np.asarray((counts + s * base) / (tables.total[rows.worker] - own_votes.weight[:, None] * posterior + s))


def _plain(
    space: Workspace, q: F8, tables: LeaveOutTables, mixture: F8, source: I4 | None, chosen: Mask, mode: int
) -> tuple[F8, Predictions]:
    rows, k = space.shard, q.shape[1]
    weight = row_weights(rows)
    own_votes = SameWorkerVotes.of(rows, q)
    estimates = [row_estimates(space, q, tables, own_votes, j) for j in range(N_ESTIMATES)]
    share = mixture[rows.worker]
    theta = np.maximum(np.sum([share[:, j, None] * estimates[j] for j in range(N_ESTIMATES)], axis=0), FLOOR)
    log = np.log(theta) * weight[:, None]
    score = segment_sum(log, rows.task_offsets)
    posterior = normalise_rows(score + tables.log_prior)[0]
    is_gold = np.zeros(len(rows), dtype=bool)
    if space.gold is not None:
        truth = space.gold
        gold = np.flatnonzero(truth < k)
        posterior[gold] = np.eye(k)[truth[gold]]
        is_gold = truth[rows.task] < k
    curve = np.zeros(len(POWERS))
    scores = np.zeros((N_ESTIMATES, rows.n_workers))
    if mode == 0:
        return posterior, Predictions(curve, np.zeros(1), scores)
    other_score, has_others = _without_source(rows, log, score, source)
    has_others &= chosen[rows.task]
    for j, power in enumerate(POWERS):
        if mode == 1 and j != ONE:
            continue
        p = normalise_rows(power * other_score + tables.log_prior)[0]
        if is_gold.any():
            p[is_gold] = posterior[rows.task[is_gold]]
        curve[j] = (weight * np.log(np.maximum((p * theta).sum(axis=1), FLOOR)))[has_others].sum()
        if j == ONE:
            for f in range(N_ESTIMATES):
                value = weight * np.log(np.maximum((p * estimates[f]).sum(axis=1), FLOOR)) * has_others
                scores[f] = np.bincount(rows.worker, weights=value, minlength=rows.n_workers)
    return posterior, Predictions(curve, np.array([weight[has_others].sum()]), scores)


def _without_source(rows: LabelRows, log: F8, score: F8, source: I4 | None) -> tuple[F8, Mask]:
    """Log-likelihood of each row's task without the row's source, and whether another source labelled the task."""
    worker = rows.worker if source is None else source[rows.worker]
    task = rows.task.astype(np.int64)
    pair = task * (int(worker.max(initial=0)) + 1) + worker
    unique, at = np.unique(pair, return_inverse=True)
    if len(unique) == len(pair):
        own_score: F8 = log
        n_sources = np.bincount(task, minlength=len(score))
    else:
        own_score = np.stack([group_sums(at, log[:, k]) for k in range(log.shape[1])], axis=1)
        n_sources = np.bincount(unique // (int(worker.max(initial=0)) + 1), minlength=len(score))
    return score[task] - own_score, n_sources[task] >= 2


def _compiled(
    space: Workspace, q: F8, tables: LeaveOutTables, mixture: F8, source: I4 | None, chosen: Mask, mode: int
) -> tuple[F8, Predictions]:
    from .leave_out_kernels import predict_kernel

    rows, k = space.shard, q.shape[1]
    chunks = space.chunks()
    posterior = np.empty((rows.n_tasks, k))
    weight = np.empty(0) if rows.weight is None else rows.weight
    gold = np.empty(0, dtype=np.int32) if space.gold is None else space.gold
    sources = np.empty(0, dtype=np.int32) if source is None else np.ascontiguousarray(source, dtype=np.int32)
    outs = [(np.zeros(len(POWERS) + 1), np.zeros((rows.n_workers, N_ESTIMATES))) for _ in chunks]
    longest = int(rows.labels_per_task.max(initial=0))
    missed = tables.wrong.sum(axis=1)
    q = np.ascontiguousarray(q)
    own_votes = SameWorkerVotes.of(rows, q)
    jobs = [
        (
            rows.task_offsets, rows.worker, rows.label, weight, own_votes.weight, own_votes.same, own_votes.hit, q,
            tables.counts, tables.total, tables.hits, tables.n, tables.wrong, missed, tables.accuracy,
            tables.wrong_share, tables.pooled, tables.log_prior, np.ascontiguousarray(mixture), STRENGTHS, gold,
            sources, mode, chosen,
            posterior, *outs[i], longest, lo, hi,
        )
        for i, (lo, hi) in enumerate(chunks)
    ]  # fmt: skip
    shared_pool(predict_kernel, jobs)
    sums, scores = outs[0]
    for other, more in outs[1:]:
        sums += other
        scores += more
    return posterior, Predictions(sums[:-1], sums[-1:], np.ascontiguousarray(scores.T))
