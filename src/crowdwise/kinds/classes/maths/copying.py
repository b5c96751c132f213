"""Groups of workers who repeat each other's labels, found by their excess agreement on doubtful labels.

For two labels a, b of one task by different workers, the posterior without b's label and b's own confusion matrix
predict how likely b is to say what a said. The difference between agreement and this probability, weighted by how
doubtful a's label is without b, is summed over the tasks that two workers share:

    excess = sum u (agree - e),  variance = sum u² e (1 - e),  largest = sum u (1 - e),  u = 1 - P(a's label is right)

Two good workers agree because both are right, which e already says; two copies agree on what nobody else says. A single
pair shares few tasks, so groups are read off the leading eigenvector of the matrix of standardised excesses. A group
counts where its eigenvalue is far above that of noise, its excess is significant, and it is most of the largest excess
that is possible. Significant is an excess of Z_SCORE standard deviations. Where few agreements are expected at all, two
by chance are many standard deviations, so Bernstein's inequality, which allows for single large terms, must hold too:
excess² >= BERNSTEIN² · (variance + excess / 3), where independent errors reach it with probability exp(-BERNSTEIN² / 2)
at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from ....em.kernels import Workspace, shared_pool
from ....em.loop import Additive
from ....stats.logspace import normalise_rows, segment_sum
from .leave_out import FLOOR, LeaveOutTables, OwnVotes

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]

# Only so many of the busiest workers are compared, and about so many ordered pairs of labels × classes are looked at.
MOST_WORKERS, MOST_PAIRS = 400, 20_000_000
# Pseudo-labels with which a worker's confusion shrinks to the pooled one.
STRENGTH = 2.0
# A group counts from this multiple of the noise's eigenvalue, these z-scores and this share of the largest excess.
EIGENVALUE, Z_SCORE, BERNSTEIN, SHARE = 1.3, 6.0, 4.5, 0.6
# A group is a minority: one that gave more of the labels would be the crowd itself.
LARGEST = 0.4
MOST_GROUPS = 5
# Added to the variance of a pair: few shared tasks must not make a pair stand out.
_STEADY = 0.05


@dataclass(frozen=True)
class PairSums(Additive):
    """table[sum, worker, worker] over the compared workers; the sums are excess, variance, largest possible excess and
    number of shared labels."""

    table: F8


def compared_workers(labels: F8, most: int = MOST_WORKERS) -> I4:
    """place[worker] among the compared workers, -1 for the others; equally busy workers are in or out together."""
    n = np.asarray(labels)
    chosen = n >= 2
    if int(chosen.sum()) > most:
        chosen = n > np.sort(n)[-most - 1]
    place = np.full(len(n), -1, dtype=np.int32)
    place[chosen] = np.arange(int(chosen.sum()), dtype=np.int32)
    return place


def pair_sums(space: Workspace, q: F8, tables: LeaveOutTables, place: I4, step: int = 1) -> PairSums:
    """The sums over the tasks of a part; of every `step` tasks one is looked at."""
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
        own = OwnVotes.of(rows, q)
        jobs = [
            (
                rows.task_offsets, rows.worker, rows.label, weight, own.weight, own.same, q, tables.counts,
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


def _plain(space: Workspace, q: F8, tables: LeaveOutTables, place: I4, chosen: npt.NDArray[np.bool_], m: int) -> F8:
    rows, k = space.shard, q.shape[1]
    task, worker, label = rows.task.astype(np.int64), rows.worker, rows.label
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    own = OwnVotes.of(rows, q)
    same, whole = own.same[:, None] * q[task], own.weight[:, None] * q[task]
    counts = tables.counts.reshape(-1, k)
    theta = (counts[rows.cell] - same + STRENGTH * tables.pooled[label]) / (tables.total[worker] - whole + STRENGTH)
    log = np.log(np.maximum(theta, FLOOR)) * weight[:, None]
    score = segment_sum(log, rows.task_offsets)
    p = normalise_rows(score[task] - log + tables.log_prior)[0]
    if space.gold is not None:
        known = space.gold[task] < k
        p[known] = np.eye(k)[space.gold[task[known]]]
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
        tables.total[worker[b]] - whole[b] + STRENGTH
    )
    expected = np.clip((p[b] * theta).sum(axis=1), 0.0, 1.0)
    doubt = 1 - p[b, label[a]]
    key = place[worker[a]].astype(np.int64) * m + place[worker[b]]
    pair = weight[a] * weight[b] / 2
    values = (doubt * (agree - expected), doubt**2 * expected * (1 - expected), doubt * (1 - expected), np.ones(len(a)))
    return np.stack([np.bincount(key, weights=v * pair, minlength=m * m).reshape(m, m) for v in values])


def groups_of(sums: PairSums, labels: F8) -> list[npt.NDArray[np.int64]]:
    """Groups among the compared workers, who gave so many labels[worker]; the strongest first."""
    out: list[npt.NDArray[np.int64]] = []
    left = np.arange(len(labels))
    everything = max(float(labels.sum()), 1.0)
    while len(left) >= 3 and len(out) < MOST_GROUPS:
        excess, variance, largest, shared = sums.table[:, left[:, None], left[None, :]]
        met = (shared >= 2) & ~np.eye(len(left), dtype=bool)
        if not met.any():
            break
        z = np.where(met, excess / np.sqrt(variance + _STEADY), 0.0)
        value, vector = eigh(z, subset_by_index=[len(z) - 1, len(z) - 1])
        leading = vector[:, 0] * np.sign(vector[np.abs(vector[:, 0]).argmax(), 0])
        group = np.flatnonzero(leading > 0.5 * leading.max())
        inside = np.ix_(group, group)
        total = float(np.where(met, excess, 0.0)[inside].sum() / 2)
        noise_variance = float(np.where(met, variance, 0.0)[inside].sum() / 2)
        share = total / max(float(np.where(met, largest, 0.0)[inside].sum() / 2), 1e-9)
        noise = 2 * np.sqrt(met.sum() / len(left))
        counts = (
            len(group) >= 2 and value[0] >= EIGENVALUE * noise and share >= SHARE
            and total > 0 and total**2 >= Z_SCORE**2 * noise_variance
            and total**2 >= BERNSTEIN**2 * (noise_variance + total / 3)
            and labels[left[group]].sum() <= LARGEST * everything
        )  # fmt: skip
        if not counts:
            break
        out.append(left[group])
        left = np.delete(left, group)
    return out
