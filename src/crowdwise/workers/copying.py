"""Who hands in another's answers? Copying weighed against working alone, over all tasks that two workers share.

Of two labels a and b of one task, with q the task's class by everybody else's labels (theirs taken out) and A, B what
the two workers say of which class:

    alone     p(a, b) = sum_k q_k A[k, a] B[k, b]
    copying   p(a, b) = (1 - c) · alone + c · [a = b] · (sum_k q_k A[k, a] + sum_k q_k B[k, b]) / 2

The same right answer tells a little, the same wrong one much, and every difference speaks against copying. Averaged
over some shares c, the ratio has mean one among workers who work alone: a ratio of x has a p-value of at most 1/x
(Markov), with nothing to calibrate. The ratios of a group's pairs multiply, and a group of s workers among M pays for
the C(M, s) groups that it might have been: so a ring is found where no two of its members met often enough.
Fails where workers share a misleading source that the others do not see: that is dependence, but nobody copied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import lgamma, log
from typing import Any

import numpy as np
import numpy.typing as npt

from ..aggregate.find_groups import own_confusions
from ..annotations import Annotations
from ..engine.selection import reading
from ..maths.kernels import Workspace, em_pass
from .dependence import MIN_COMMON
from .judgement import FLOOR
from .pairs import label_pairs

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Shares of the answers that a copier hands over. Less than half is no copying but a common school.
SHARES = np.array([0.5, 0.75, 0.95])
# Pairs of labels looked at, at most (of evenly spaced tasks), and at a time.
MOST, PART = 2_000_000, 100_000
# Pairs from which groups are grown: those with the highest ratios.
SEEDS = 100


def _own(votes: Annotations, posterior: F8) -> F8:
    """theta[worker, observed, true] from each worker's own labels alone."""
    return own_confusions(votes, posterior).transpose(0, 2, 1)


# Working alone is given the better of two readings. Held to the crowd's, two who always say one class look in league;
# left to themselves, two good workers with few labels do.
READINGS = (reading, _own)


@dataclass(frozen=True)
class Ratios:
    """Pairs first < second in ascending order: common tasks, those with the same answer, and log copying : alone."""

    first: I8
    second: I8
    common: F8
    same: F8
    log_ratio: F8


@dataclass(frozen=True)
class Ring:
    """Workers who hand in the same answers, and the p-value, adjusted for all groups there could be."""

    workers: tuple[int, ...]
    p_value: float


def ratios(votes: Annotations, posterior: F8, known: npt.NDArray[np.bool_], voice: F8) -> Ratios:
    """Copying against working alone, for all pairs with enough common tasks.

    posterior[task, class] is where the readings start from; known[task] tells whose truth is given; voice[worker] is
    how much his word counts for what is true: members of a group that is known to depend share one.
    """
    m = votes.n_workers
    heard = voice[votes.worker] if votes.weight is None else voice[votes.worker] * votes.weight
    first, second = label_pairs(votes, MOST, MIN_COMMON)
    key, pair = np.unique(votes.worker[first].astype(np.int64) * m + votes.worker[second], return_inverse=True)
    same = votes.label[first] == votes.label[second]
    score = np.zeros((len(READINGS), len(SHARES), len(key)))
    for view, read in enumerate(READINGS):
        theta, belief = _settle(votes, posterior, known, heard, read)
        for start in range(0, len(first), PART):
            part = slice(start, start + PART)
            gain = _gain(votes, theta, belief, heard, first[part], second[part])
            for i, share in enumerate(SHARES):
                each = np.log((1 - share) + share * np.where(same[part], gain, 0.0))
                score[view, i] += np.bincount(pair[part], weights=each, minlength=len(key))
    common = np.bincount(pair, minlength=len(key)).astype(np.float64)
    agreed = np.bincount(pair, weights=same, minlength=len(key)).astype(np.float64)
    mean = (np.logaddexp.reduce(score, axis=1) - np.log(len(SHARES))).min(axis=0)
    kept = common >= MIN_COMMON
    return Ratios(key[kept] // m, key[kept] % m, common[kept], agreed[kept], mean[kept])


def _settle(
    votes: Annotations, start: F8, known: npt.NDArray[np.bool_], heard: F8, read: Callable[[Annotations, F8], F8]
) -> tuple[F8, F8]:
    """theta[worker, observed, true] by one way of reading, and the posterior under it, whatever the method was."""
    space, posterior = Workspace.of(votes if (heard == 1).all() else replace(votes, weight=heard)), start
    for _ in range(2):
        theta = np.ascontiguousarray(read(votes, posterior))
        fitted = em_pass(space, theta, np.maximum(posterior.mean(axis=0), FLOOR)).posterior
        posterior = np.where(known[:, None], start, fitted)
    return theta, posterior


def _gain(votes: Annotations, theta: F8, posterior: F8, heard: F8, first: I8, second: I8) -> F8:
    """How much likelier each pair of labels is if one was copied from the other, were they the same."""
    by_cell = np.maximum(theta.reshape(-1, votes.n_classes), FLOOR)
    a, b = by_cell[votes.cell[first]], by_cell[votes.cell[second]]  # row, true
    q = np.log(np.maximum(posterior[votes.task[first]], FLOOR))
    q -= heard[first, None] * np.log(a) + heard[second, None] * np.log(b)
    q = np.exp(q - q.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    return np.asarray((q * (a + b) / 2).sum(axis=1) / (q * a * b).sum(axis=1))


def rings(seen: Ratios, n_workers: int, level: float) -> list[Ring]:
    """Groups whose pairs together are beyond chance at `level`, the surest first; no worker is in two."""
    from scipy.sparse import csr_array

    ends = np.r_[seen.first, seen.second], np.r_[seen.second, seen.first]
    table = csr_array((np.tile(seen.log_ratio, 2), ends), shape=(n_workers, n_workers))
    free = np.ones(n_workers, dtype=bool)
    found: list[Ring] = []
    while True:
        likely = np.flatnonzero((seen.log_ratio > 0) & free[seen.first] & free[seen.second])
        likely = likely[np.argsort(-seen.log_ratio[likely], kind="stable")][:SEEDS]
        grown = [_grow(table, free, int(seen.first[i]), int(seen.second[i])) for i in likely]
        score, group = max(grown, key=lambda each: each[0], default=(-np.inf, ()))
        if score < -log(level):
            return found
        found.append(Ring(tuple(sorted(group)), float(np.exp(-score))))
        free[list(group)] = False


def _grow(table: Any, free: npt.NDArray[np.bool_], a: int, b: int) -> tuple[float, tuple[int, ...]]:
    """The best group on the way from one pair, each time with the worker whose pairs with it have the highest ratios.

    Its score is the log ratio of all its pairs less the logarithm of how many groups of its size there are.
    """
    m, group = len(free), [a, b]
    total = float(table[a, b])
    gain = table[[a]].toarray()[0] + table[[b]].toarray()[0]
    best: tuple[float, tuple[int, ...]] = total - _log_choices(m, 2), (a, b)
    while 2 * len(group) < m:
        open_ = np.where(free, gain, -np.inf)
        open_[group] = -np.inf
        w = int(open_.argmax())
        if open_[w] <= log((m - len(group)) / (len(group) + 1)):
            break
        total += float(open_[w])
        group.append(w)
        gain = gain + table[[w]].toarray()[0]
        best = max(best, (total - _log_choices(m, len(group)), tuple(group)))
    return best


def _log_choices(m: int, s: int) -> float:
    return lgamma(m + 1) - lgamma(s + 1) - lgamma(m - s + 1)
