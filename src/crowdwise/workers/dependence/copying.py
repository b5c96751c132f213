"""Who hands in another's answers? Copying weighed against working alone, over all tasks that workers share.

A copier says what another said with probability c, and else what they would say alone:

    P(label | the labels before) = (1 - c) · alone + c · share of the labels before that are the same

so the ratio copying : alone of a label is 1 - c + c · same / chance, with the chance that `alone` gives, which knows
how hard the task is and which mistakes it invites. The same right answer tells a little, the same wrong one much, and
every difference speaks against copying. Averaged over some c the product of the ratios has mean one among workers who
work alone: a ratio of x has a p-value of at most 1/x (Markov). Pairs are only used to look for groups: their ratios
depend on each other. The test of a group takes its members' labels in turn, each given those before, and a group of s
workers among M pays for the C(M, s) groups that it might have been; then each member must pass against the others.
No model is quite true: where the scores of most pairs spread wider than theory has it, all logarithms are divided by
their variance (as in quasi-likelihood). Fails where workers share a source that the others do not see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import lgamma, log
from typing import Any

import numpy as np
import numpy.typing as npt

from .alone import Alone

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# A pair with fewer common tasks says nothing.
MIN_COMMON = 10
# Shares of the answers that a copier hands over. Less than half is no copying but a common school.
SHARES = np.array([0.5, 0.75, 0.95])
# Pairs from which groups are grown: those with the highest ratios. Groups tested, at most, before giving up.
SEEDS, TESTS = 100, 3
# Pairs from which on the spread of their scores can be told.
MANY = 20


@dataclass(frozen=True)
class Ratios:
    """Pairs first < second in ascending order: log copying : alone, and the standard score of being the same."""

    first: I8
    second: I8
    log_ratio: F8
    score: F8

    def spread(self, apart: Sequence[int] = ()) -> float:
        """Variance of the scores of most pairs, at least one: copiers are few, and stand outside.

        Pairs within the group `apart` do not count.
        """
        z = self.score[~(np.isin(self.first, apart) & np.isin(self.second, apart))]
        return max(1.0, float((1.4826 * np.median(np.abs(z - np.median(z)))) ** 2)) if len(z) >= MANY else 1.0


@dataclass(frozen=True)
class Ring:
    """Workers who hand in the same answers; p_value[i] of the i-th, adjusted for all groups and workers."""

    workers: tuple[int, ...]
    p_value: tuple[float, ...]


def ratios(null: Alone) -> Ratios:
    """Copying against working alone, for all pairs with enough common tasks."""
    votes, m = null.votes, null.votes.n_workers
    first, second = null.meetings()
    key, pair = np.unique(votes.worker[first].astype(np.int64) * m + votes.worker[second], return_inverse=True)
    same = votes.label[first] == votes.label[second]
    gain = np.zeros(len(first))
    gain[same] = 1 / null.chance(first[same], second[same])
    score: F8 = np.array(
        [np.bincount(pair, weights=each, minlength=len(key)) for each in _logs(gain)], dtype=np.float64
    )
    kept = np.bincount(pair, minlength=len(key)) >= MIN_COMMON
    slope = np.bincount(pair, weights=gain - 1, minlength=len(key))[kept]
    size = np.sqrt(np.bincount(pair, weights=(gain - 1) ** 2, minlength=len(key))[kept])
    return Ratios(key[kept] // m, key[kept] % m, _mean(score[:, kept]), slope / np.maximum(size, 1e-12))


def _logs(gain: F8) -> F8:
    """log copying : alone of each label, for each share, given same / chance."""
    return np.asarray(np.log((1 - SHARES)[:, None] + SHARES[:, None] * gain[None, :]))


def _mean(score: F8) -> F8:
    """Logarithm of the mean over the shares."""
    return np.asarray(np.logaddexp.reduce(score, axis=0) - log(len(SHARES)))


def find_ring(null: Alone, level: float, with_one_voice: Callable[[Sequence[int]], Alone]) -> tuple[Ring, Alone] | None:
    """The first group, of those with the highest ratios, that is beyond chance at `level` with each of its members.

    It must be so twice: where everybody has a voice, and, by as much as no model is quite true, where the group has one
    (a large ring makes its own answers look like common mistakes). Comes with the second null.
    """
    from scipy.sparse import csr_array

    m, seen = null.votes.n_workers, ratios(null)
    ends = np.r_[seen.first, seen.second], np.r_[seen.second, seen.first]
    table = csr_array((np.tile(seen.log_ratio, 2), ends), shape=(m, m))
    likely = np.flatnonzero(seen.log_ratio > 0)
    likely = likely[np.argsort(-seen.log_ratio[likely], kind="stable")][:SEEDS]
    grown = {_grow(table, m, int(seen.first[i]), int(seen.second[i])) for i in likely}
    tests = 0
    for score, group in sorted(grown, reverse=True):
        # The sum over pairs overstates a group: below the level it needs no test.
        if score < -log(level) or tests == TESTS:
            return None
        if _weigh(*null.in_turn(group)) - _log_choices(m, len(group)) < -log(level):
            continue
        tests += 1
        fair = with_one_voice(group)
        spread = ratios(fair).spread(group)
        ring = _tested(fair, list(group), spread, level)
        if ring is not None:
            return _joined(fair, seen, ring, spread, level), fair
    return None


def _tested(null: Alone, group: list[int], spread: float, level: float) -> Ring | None:
    """The group, without those who do not pass against the others, if it is beyond chance as a whole."""
    m = null.votes.n_workers
    while len(group) > 1:
        each = np.array([_weigh(*null.in_turn(group, w)) for w in group]) / spread - log(m)
        if each.min() >= -log(level):
            break
        del group[int(each.argmin())]
    else:
        return None
    whole = _weigh(*null.in_turn(group)) / spread - _log_choices(m, len(group))
    if whole < -log(level):
        return None
    order = np.argsort(group)
    p = np.exp(-np.minimum(each, whole))
    return Ring(tuple(group[i] for i in order), tuple(float(p[i]) for i in order))


def _joined(null: Alone, seen: Ratios, ring: Ring, spread: float, level: float) -> Ring:
    """The ring with whoever else passes against it."""
    m = null.votes.n_workers
    inside = np.zeros(m, dtype=bool)
    inside[list(ring.workers)] = True
    pull = np.bincount(seen.first, weights=seen.log_ratio * inside[seen.second], minlength=m)
    pull += np.bincount(seen.second, weights=seen.log_ratio * inside[seen.first], minlength=m)
    found = dict(zip(ring.workers, ring.p_value, strict=True))
    for w in np.flatnonzero((pull > 0) & ~inside).tolist():
        each = _weigh(*null.in_turn([*ring.workers, w], w)) / spread - log(m)
        if each >= -log(level):
            found[w] = float(np.exp(-each))
    return Ring(tuple(sorted(found)), tuple(found[w] for w in sorted(found)))


def _weigh(same: F8, chance: F8) -> float:
    """log copying : alone of labels in turn."""
    return float(_mean(_logs(same / chance).sum(axis=1))) if len(same) else -np.inf


def _grow(table: Any, m: int, a: int, b: int) -> tuple[float, tuple[int, ...]]:
    """The best group on the way from one pair, each time with the worker whose pairs with it have the highest ratios.

    Its score is the log ratio of all its pairs less the logarithm of how many groups of its size there are.
    """
    group, total = [a, b], float(table[a, b])
    gain = table[[a]].toarray()[0] + table[[b]].toarray()[0]
    best: tuple[float, tuple[int, ...]] = total - _log_choices(m, 2), (a, b)
    while 2 * len(group) < m:
        gain[group] = -np.inf
        w = int(gain.argmax())
        if gain[w] <= log((m - len(group)) / (len(group) + 1)):
            break
        total += float(gain[w])
        group.append(w)
        gain = gain + table[[w]].toarray()[0]
        best = max(best, (total - _log_choices(m, len(group)), tuple(group)))
    return best[0], tuple(sorted(best[1]))


def _log_choices(m: int, s: int) -> float:
    return lgamma(m + 1) - lgamma(s + 1) - lgamma(m - s + 1)
