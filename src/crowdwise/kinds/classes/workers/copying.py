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

from ....stats.dirichlet import divergences, log_evidence, log_mean, log_rows
from ....stats.logspace import normalise_rows
from ..annotations import Annotations
from .independence_null import Alone

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


# ----------------------------------------------------------------
# Who answers without looking? A spammer's labels do not depend on the truth: their confusion rows are all alike.
# For every worker the evidence of their labels is weighed under three models; the truth is what the *others* say of
# it:
#
#     spammer   label ~ Cat(own),                      own ~ Dir(1/2)
#     honest    label ~ Cat(confusion[truth]),         rows ~ apart · Dir(1/2), or ~ apart · Dir(strength · honest mean)
#     expert    label ~ Cat(row[truth = c]),           one class c told from the rest, rows ~ apart · Dir(1/2)
#
# `apart` is the squared distance between the rows: a non-local prior (Johnson & Rossell 2010, JRSS B 72(2)). Without
# it the honest models allow rows that are alike too, and with two classes, whose rows have one number each, hundreds
# of labels do not tell a guesser from an honest worker. The first is exact, the others variational bounds (the truth
# is uncertain). The shares of all kinds and the honest mean are learnt from the crowd. Constant and random spammers
# are one model; who is wrong on purpose is no spammer but adversarial: their labels tell as much as an honest
# worker's once they are read the other way round. After Raykar & Yu (2012), Eliminating spammers and ranking
# annotators, JMLR 13(16).

# Fewer labels say nothing of a worker; a flag needs this probability; one class this often is "always".
MIN_LABELS = 5
LEVEL = 0.9
ALWAYS = 0.95
# A random worker follows the others by less than this share of what the typical worker does.
TYPICAL = 0.65
# To be called an adversary takes more: among many guessers some are unlucky.
ADVERSARIAL = 0.999
# Pseudo-workers of each kind: spammers, workers like most, workers of their own kind, experts on one class.
PSEUDO = np.array([0.5, 2.0, 0.3, 0.3])
# Pseudo-labels a cell of a worker of their own kind: below one, rows that lean to few classes.
FREE = 0.5
# Pseudo-labels a class behind the honest workers' mean confusion; rounds of the two loops.
STRENGTHS = (2.0, 5.0, 10.0, 20.0)
STEPS, ROUNDS = 12, 4


@dataclass(frozen=True)
class Suspicion:
    """Of each worker: the log odds spammer : honest of their labels alone, the probability with the crowd's share
    of spammers, and that share."""

    log_odds: F8
    probability: F8
    share: float


def suspicion(annotations: Annotations, belief: F8) -> Suspicion:
    """How probable is it that each worker is a spammer, given belief[row, class] about the row's task without them?

    Labels of tasks that nobody else labelled tell nothing: they do not count.
    """
    told = _told(annotations, belief)
    annotations, belief = (annotations, belief) if told.all() else (annotations.take(told), belief[told])
    n, k = annotations.labels_per_worker, annotations.n_classes
    judged = n >= MIN_LABELS
    if k < 2 or not judged.any():
        return Suspicion(np.zeros(len(n)), np.full(len(n), 0.1), 0.1)
    said = np.bincount(annotations.cell, minlength=len(n) * k).reshape(len(n), k).astype(np.float64)
    spam = log_rows(said, np.full(said.shape[1], FREE), axis=1)
    free, table = _informative(annotations, belief, np.full((1, k, k), FREE))
    expert = _experts(annotations, belief)
    share = PSEUDO / PSEUDO.sum()
    probability = np.full(len(n), 0.1)
    for _ in range(ROUNDS):
        trust = np.where(judged, 1 - probability, 0.0)
        mean = np.einsum("w,wkl->kl", trust, table) + np.eye(k) + 1.0 / k
        mean /= mean.sum(axis=1, keepdims=True)
        usual, _ = _informative(annotations, belief, (_strength(table[trust > 0.5], mean) * mean + 0.1)[None])
        evidence = np.stack([spam, usual, free, expert], axis=1)
        for _ in range(20):
            each = normalise_rows(evidence + np.log(share))[0]
            share = each[judged].sum(axis=0) + PSEUDO
            share /= share.sum()
        probability = each[:, 0]
    honest = np.log(share[1:] / share[1:].sum())
    odds = spam - np.logaddexp.reduce(evidence[:, 1:] + honest, axis=1)
    return Suspicion(odds, probability, float(share[0]))


def _told(annotations: Annotations, belief: F8) -> npt.NDArray[np.bool_]:
    """Rows of whose task something is known without the worker: others labelled it, or the truth was given."""
    task, m = annotations.task.astype(np.int64), annotations.n_workers
    workers = np.bincount(np.unique(task * m + annotations.worker) // max(m, 1), minlength=annotations.n_tasks)
    return np.asarray((workers[task] > 1) | (belief.max(axis=1, initial=0.0) == 1))


def _strength(table: F8, mean: F8) -> float:
    """How alike the honest workers are: pseudo-labels behind each row of their mean, by the evidence of their counts.

    Expected counts are smoother than real ones and would make everybody alike, so there is a bound.
    """
    scores = [sum(log_evidence(table[:, k], mean[k], s) for k in range(len(mean))) for s in STRENGTHS]
    return STRENGTHS[int(np.argmax(scores))]


def _experts(annotations: Annotations, belief: F8) -> F8:
    """Evidence for a worker who tells one class from the rest and looks no further, whichever class it is.

    Among many labels of common classes such an expert on a rare one looks like a spammer; with few tasks of the rare
    class behind them nobody can tell, and they must not be accused.
    """
    k = annotations.n_classes
    if k == 2:  # to tell one class from the rest is then to tell them all
        return np.full(annotations.n_workers, -np.inf)
    prior = np.full((1, 2, k), FREE)
    each = [_informative(annotations, np.stack([belief[:, c], 1 - belief[:, c]], axis=1), prior)[0] for c in range(k)]
    return np.asarray(np.logaddexp.reduce(each, axis=0) - np.log(k))


def _informative(annotations: Annotations, belief: F8, prior: F8) -> tuple[F8, F8]:
    """`_honest` under the prior times the squared distance between its rows: rows that are alike are a spammer's."""
    evidence, counts = _honest(annotations, belief, prior)
    return evidence + np.log(_apart(counts + prior) / _apart(prior)), counts


def _apart(rows: F8) -> F8:
    """Expected squared distance between two rows, summed over all pairs; rows[worker, true, observed] of Dirichlets."""
    total = rows.sum(axis=2, keepdims=True)
    mean = rows / total
    spread = (mean * (1 - mean) / (total + 1)).sum(axis=(1, 2))
    n = rows.shape[1]
    gaps = n * (mean**2).sum(axis=(1, 2)) - (mean.sum(axis=1) ** 2).sum(axis=1)
    return np.asarray((n - 1) * spread + np.maximum(gaps, 0.0))


def _honest(annotations: Annotations, belief: F8, prior: F8) -> tuple[F8, F8]:
    """Evidence (variational bound) of each worker's labels with rows of their own, and the counts [true, observed]."""
    m, k, n_rows = annotations.n_workers, annotations.n_classes, belief.shape[1]
    resp, counts = belief, np.zeros((m, n_rows, k))
    for _ in range(STEPS):
        for true in range(n_rows):
            counts[:, true] = np.bincount(annotations.cell, weights=resp[:, true], minlength=m * k).reshape(m, k)
        theta = np.exp(log_mean(counts + prior, axis=2))
        rows = belief * theta.transpose(0, 2, 1).reshape(m * k, n_rows)[annotations.cell]
        total = np.maximum(rows.sum(axis=1), 1e-300)
        resp = rows / total[:, None]
    gain = np.bincount(annotations.worker, weights=np.log(total), minlength=m)
    return gain - divergences(counts + prior, prior, axis=2).sum(axis=1), counts
