"""Groups of workers who copy each other's labels, detected by excess agreement on doubtful labels.

For two labels a, b of one task by different workers, the posterior without b's label and b's confusion matrix give the
probability e that b agrees with a. The difference between observed agreement and e, weighted by how doubtful a's label
is without b, is summed over the tasks that two workers share:

    excess = sum u (agree - e),  variance = sum u² e (1 - e),  largest = sum u (1 - e),  u = 1 - P(a's label is right)

Two good workers agree because both are right, and e accounts for that; two copies agree on labels that no other worker
gives. A single pair shares few tasks, so groups are read off the leading eigenvector of the matrix of standardised
excesses. A group is reported if its eigenvalue is far above that of noise, its excess is significant, and the excess is
most of the largest one possible. Significant means Z_SCORE standard deviations. Where few agreements are expected at
all, two by chance are many standard deviations, so Bernstein's inequality, which allows for single large terms, must
hold too: excess² >= BERNSTEIN² · (variance + excess / 3); independent errors reach this with probability
exp(-BERNSTEIN² / 2) at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from ....core.arrays import F8, I4, I8, Mask
from ....em.kernels import Workspace, shared_pool
from ....em.loop import Additive
from ....em.rows import row_weights
from ....stats.logspace import normalise_rows, segment_sum
from .leave_out import FLOOR, LeaveOutTables, SameWorkerVotes

# Limits: busiest workers that are compared, and ordered pairs of labels × classes that are examined (approximate).
MOST_WORKERS, MOST_PAIRS = 400, 20_000_000
# Pseudo-labels that shrink a worker's confusion matrix to the pooled one.
STRENGTH = 2.0
# Thresholds of a group: multiple of the noise eigenvalue, z-scores, and share of the largest excess.
EIGENVALUE, Z_SCORE, BERNSTEIN, SHARE = 1.3, 6.0, 4.5, 0.6
# A group must be a minority: largest share of all labels that it may have given.
LARGEST = 0.4
MOST_GROUPS = 5
# Added to the variance of a pair, so that pairs with few shared tasks have no large z-scores.
_STEADY = 0.05


@dataclass(frozen=True)
class PairSums(Additive):
    """table[sum, worker, worker] over the compared workers: excess, variance, largest possible excess and number of
    shared labels."""

    table: F8


def compared_workers(labels: F8, most: int = MOST_WORKERS) -> I4:
    """Return place[worker] among the compared workers, -1 for the others.

    Workers with the same number of labels are either all compared or all left out.
    """
    n = np.asarray(labels)
    chosen = n >= 2
    if int(chosen.sum()) > most:
        chosen = n > np.sort(n)[-most - 1]
    place = np.full(len(n), -1, dtype=np.int32)
    place[chosen] = np.arange(int(chosen.sum()), dtype=np.int32)
    return place


def pair_sums(space: Workspace, q: F8, tables: LeaveOutTables, place: I4, step: int = 1) -> PairSums:
    """Sums over the tasks of a part, using one in every `step` tasks."""
    m = int(place.max(initial=-1)) + 1
    rows = space.shard
    compared = np.bincount(rows.task, weights=place[rows.worker] >= 0, minlength=rows.n_tasks)
    chosen = ((np.arange(rows.n_tasks) + space.first) % step == 0) & (compared >= 2)
    if space.compiled:
        from .copying_kernels import pairs_kernel

        chunks = space.chunks()
        outs = [np.zeros((4, m, m)) for _ in chunks]
        weight = np.empty(0) if rows.weight is None else rows.weight
        gold = np.empty(0, dtype=np.int32) if space.gold is None else space.gold
        longest = int(rows.labels_per_task.max(initial=0))
        q = np.ascontiguousarray(q)
        own_votes = SameWorkerVotes.of(rows, q)
        jobs = [
            (
                rows.task_offsets, rows.worker, rows.label, weight, own_votes.weight, own_votes.same, q, tables.counts,
                tables.total, tables.pooled, tables.log_prior, STRENGTH, gold, place, chosen, outs[i], longest, lo, hi,
            )
            for i, (lo, hi) in enumerate(chunks)
        ]  # fmt: skip
        shared_pool(pairs_kernel, jobs)
        for other in outs[1:]:
            outs[0] += other
        table = outs[0]
    else:
        table = _plain(space, q, tables, place, chosen, m)
    return PairSums(table + table.transpose(0, 2, 1))


def _plain(space: Workspace, q: F8, tables: LeaveOutTables, place: I4, chosen: Mask, m: int) -> F8:
    rows, k = space.shard, q.shape[1]
    task, worker, label = rows.task.astype(np.int64), rows.worker, rows.label
    weight = row_weights(rows)
    own_votes = SameWorkerVotes.of(rows, q)
    same, own_weight = own_votes.same[:, None] * q[task], own_votes.weight[:, None] * q[task]
    counts = tables.counts.reshape(-1, k)
    theta = (counts[rows.cell] - same + STRENGTH * tables.pooled[label]) / (
        tables.total[worker] - own_weight + STRENGTH
    )
    log = np.log(np.maximum(theta, FLOOR)) * weight[:, None]
    score = segment_sum(log, rows.task_offsets)
    p = normalise_rows(score[task] - log + tables.log_prior)[0]
    if space.gold is not None:
        is_gold = space.gold[task] < k
        p[is_gold] = np.eye(k)[space.gold[task[is_gold]]]
    n = rows.labels_per_task
    several = np.where(chosen, n, 1)[task] - 1
    first = np.repeat(np.arange(len(rows)), several)
    start = np.repeat(np.cumsum(several) - several, several)
    second = rows.task_offsets[task[first]] + np.arange(len(first)) - start
    second += second >= first
    keep = (place[worker[first]] >= 0) & (place[worker[second]] >= 0) & (worker[first] != worker[second])
    a, b = first[keep], second[keep]
    agree = label[a] == label[b]
    cell = worker[b].astype(np.int64) * k + label[a]
    theta = (counts[cell] - same[b] * agree[:, None] + STRENGTH * tables.pooled[label[a]]) / (
        tables.total[worker[b]] - own_weight[b] + STRENGTH
    )
    expected = np.clip((p[b] * theta).sum(axis=1), 0.0, 1.0)
    doubt = 1 - p[b, label[a]]
    key = place[worker[a]].astype(np.int64) * m + place[worker[b]]
    pair = weight[a] * weight[b] / 2
    values = (doubt * (agree - expected), doubt**2 * expected * (1 - expected), doubt * (1 - expected), np.ones(len(a)))
    return np.stack([np.bincount(key, weights=v * pair, minlength=m * m).reshape(m, m) for v in values])


def groups_of(sums: PairSums, labels: F8) -> list[I8]:
    """Return groups among the compared workers, strongest first; labels[worker] is the number of labels given."""
    out: list[I8] = []
    remaining = np.arange(len(labels))
    n_labels = max(float(labels.sum()), 1.0)
    while len(remaining) >= 3 and len(out) < MOST_GROUPS:
        excess, variance, largest, shared = sums.table[:, remaining[:, None], remaining[None, :]]
        comparable = (shared >= 2) & ~np.eye(len(remaining), dtype=bool)
        if not comparable.any():
            break
        z = np.where(comparable, excess / np.sqrt(variance + _STEADY), 0.0)
        value, vector = eigh(z, subset_by_index=[len(z) - 1, len(z) - 1])
        leading = vector[:, 0] * np.sign(vector[np.abs(vector[:, 0]).argmax(), 0])
        group = np.flatnonzero(leading > 0.5 * leading.max())
        inside = np.ix_(group, group)
        total = float(np.where(comparable, excess, 0.0)[inside].sum() / 2)
        noise_variance = float(np.where(comparable, variance, 0.0)[inside].sum() / 2)
        share = total / max(float(np.where(comparable, largest, 0.0)[inside].sum() / 2), 1e-9)
        noise = 2 * np.sqrt(comparable.sum() / len(remaining))
        is_group = (
            len(group) >= 2 and value[0] >= EIGENVALUE * noise and share >= SHARE
            and total > 0 and total**2 >= Z_SCORE**2 * noise_variance
            and total**2 >= BERNSTEIN**2 * (noise_variance + total / 3)
            and labels[remaining[group]].sum() <= LARGEST * n_labels
        )  # fmt: skip
        if not is_group:
            break
        out.append(remaining[group])
        remaining = np.delete(remaining, group)
    return out
