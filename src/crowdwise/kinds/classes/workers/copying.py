"""Detection of copying: likelihood ratios of copying against independent work, over all tasks that workers share.

A copier repeats another worker's label with probability c, and otherwise works independently:

    P(label | the labels before) = (1 - c) · chance + c · share of the labels before that are the same

so the likelihood ratio of a label is 1 - c + c · same / chance, where chance comes from the independence null, which
accounts for difficult tasks and common mistakes. The same right label is weak evidence, the same wrong label strong
evidence, and every difference is evidence against copying. Averaged over several c, the product of the ratios has mean
one for independent workers, so a ratio of x has a p-value of at most 1/x (Markov). Pairs are only used to find
candidate groups, because their ratios are dependent. The test of a group takes the labels of its members in turn, given
those before, and corrects for the C(M, s) groups of s among M workers; then every member must pass against the others.
Because no model is exactly true, all log ratios are divided by the variance of the scores of most pairs if it is larger
than in theory (as in quasi-likelihood). Fails where workers share a source of information that the others do not have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import lgamma, log
from typing import Any

import numpy as np

from ....core.arrays import F8, I8, Mask
from ....stats.dirichlet import divergences, log_evidence, log_mean, log_rows
from ....stats.logspace import normalise_rows
from ..annotations import Annotations
from .independence_null import IndependenceNull

# Least number of common tasks of a pair.
MIN_COMMON = 10
# Values of c, the share of copied labels. Less than half may be common training instead of copying.
SHARES = np.array([0.5, 0.75, 0.95])
# Number of pairs, those with the highest ratios, from which groups are grown, and most groups that are tested.
SEEDS, TESTS = 100, 3
# Least number of pairs for estimating the variance of their scores.
MANY = 20


@dataclass(frozen=True)
class PairRatios:
    """Pairs first < second in ascending order: log likelihood ratio of copying, and z-score of equal labels."""

    first: I8
    second: I8
    log_ratio: F8
    score: F8

    def spread(self, group: Sequence[int] = ()) -> float:
        """Robust variance of the scores, at least one; few copiers do not affect it.

        Pairs within `group` are excluded.
        """
        z = self.score[~(np.isin(self.first, group) & np.isin(self.second, group))]
        return max(1.0, float((1.4826 * np.median(np.abs(z - np.median(z)))) ** 2)) if len(z) >= MANY else 1.0


@dataclass(frozen=True)
class CopyingGroup:
    """Workers who give the same labels, with p-values of the members adjusted for all groups and workers."""

    workers: tuple[int, ...]
    p_value: tuple[float, ...]


def copying_ratios(null: IndependenceNull) -> PairRatios:
    """Compute likelihood ratios of copying for all pairs with enough common tasks."""
    votes, m = null.votes, null.votes.n_workers
    first, second = null.label_pairs()
    key, pair = np.unique(votes.worker[first].astype(np.int64) * m + votes.worker[second], return_inverse=True)
    same = votes.label[first] == votes.label[second]
    ratio = np.zeros(len(first))
    ratio[same] = 1 / null.chance(first[same], second[same])
    score: F8 = np.array(
        [np.bincount(pair, weights=log_ratios, minlength=len(key)) for log_ratios in _logs(ratio)], dtype=np.float64
    )
    has_enough = np.bincount(pair, minlength=len(key)) >= MIN_COMMON
    slope = np.bincount(pair, weights=ratio - 1, minlength=len(key))[has_enough]
    size = np.sqrt(np.bincount(pair, weights=(ratio - 1) ** 2, minlength=len(key))[has_enough])
    return PairRatios(
        key[has_enough] // m, key[has_enough] % m, _mean(score[:, has_enough]), slope / np.maximum(size, 1e-12)
    )


def _logs(ratio: F8) -> F8:
    """Log likelihood ratios [share, label] of copying given ratio[label] = same / chance."""
    return np.asarray(np.log((1 - SHARES)[:, None] + SHARES[:, None] * ratio[None, :]))


def _mean(score: F8) -> F8:
    """Logarithm of the mean over the shares."""
    return np.asarray(np.logaddexp.reduce(score, axis=0) - log(len(SHARES)))


def find_copying_group(
    null: IndependenceNull, level: float, refit: Callable[[Sequence[int]], IndependenceNull]
) -> tuple[CopyingGroup, IndependenceNull] | None:
    """Find the first group, by descending ratios, that is significant at `level` together with each of its members.

    It must be significant under the given null, and, with the correction for model error, under a second null in which
    the group has the weight of one worker, because a large group makes its labels look like common mistakes.

    Args:
        null: The independence null of all workers.
        level: Significance level.
        refit: Fits the null with the weight of one worker for a group.

    Returns:
        The group and the second null, or None.
    """
    from scipy.sparse import csr_array

    m, pair_ratios = null.votes.n_workers, copying_ratios(null)
    ends = np.r_[pair_ratios.first, pair_ratios.second], np.r_[pair_ratios.second, pair_ratios.first]
    table = csr_array((np.tile(pair_ratios.log_ratio, 2), ends), shape=(m, m))
    likely = np.flatnonzero(pair_ratios.log_ratio > 0)
    likely = likely[np.argsort(-pair_ratios.log_ratio[likely], kind="stable")][:SEEDS]
    candidates = {_grow_group(table, m, int(pair_ratios.first[i]), int(pair_ratios.second[i])) for i in likely}
    tests = 0
    for score, group in sorted(candidates, reverse=True):
        # The sum over pairs overstates the evidence: a group below the level needs no test.
        if score < -log(level) or tests == TESTS:
            return None
        if _log_evidence(*null.sequential(group)) - _log_choices(m, len(group)) < -log(level):
            continue
        tests += 1
        group_null = refit(group)
        spread = copying_ratios(group_null).spread(group)
        ring = _verified(group_null, list(group), spread, level)
        if ring is not None:
            return _with_further_members(group_null, pair_ratios, ring, spread, level), group_null
    return None


def _verified(null: IndependenceNull, group: list[int], spread: float, level: float) -> CopyingGroup | None:
    """Return the group without members who do not pass against the others, if it is significant as a whole."""
    m = null.votes.n_workers
    while len(group) > 1:
        member_evidence = np.array([_log_evidence(*null.sequential(group, w)) for w in group]) / spread - log(m)
        if member_evidence.min() >= -log(level):
            break
        del group[int(member_evidence.argmin())]
    else:
        return None
    group_evidence = _log_evidence(*null.sequential(group)) / spread - _log_choices(m, len(group))
    if group_evidence < -log(level):
        return None
    order = np.argsort(group)
    p = np.exp(-np.minimum(member_evidence, group_evidence))
    return CopyingGroup(tuple(group[i] for i in order), tuple(float(p[i]) for i in order))


def _with_further_members(
    null: IndependenceNull, pair_ratios: PairRatios, ring: CopyingGroup, spread: float, level: float
) -> CopyingGroup:
    """Add all other workers who pass against the group."""
    m = null.votes.n_workers
    inside = np.zeros(m, dtype=bool)
    inside[list(ring.workers)] = True
    support = np.bincount(pair_ratios.first, weights=pair_ratios.log_ratio * inside[pair_ratios.second], minlength=m)
    support += np.bincount(pair_ratios.second, weights=pair_ratios.log_ratio * inside[pair_ratios.first], minlength=m)
    p_values = dict(zip(ring.workers, ring.p_value, strict=True))
    for w in np.flatnonzero((support > 0) & ~inside).tolist():
        evidence = _log_evidence(*null.sequential([*ring.workers, w], w)) / spread - log(m)
        if evidence >= -log(level):
            p_values[w] = float(np.exp(-evidence))
    return CopyingGroup(tuple(sorted(p_values)), tuple(p_values[w] for w in sorted(p_values)))


def _log_evidence(same: F8, chance: F8) -> float:
    """Log likelihood ratio of copying for labels in turn."""
    return float(_mean(_logs(same / chance).sum(axis=1))) if len(same) else -np.inf


def _grow_group(table: Any, m: int, a: int, b: int) -> tuple[float, tuple[int, ...]]:
    """Grow a group from one pair, adding the worker with the highest ratios to it, and return the best on the way.

    The score of a group is the sum of the log ratios of its pairs minus the log number of groups of its size.
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


def _log_choices(m: int, size: int) -> float:
    return lgamma(m + 1) - lgamma(size + 1) - lgamma(m - size + 1)


# ----------------------------------------------------------------
# Detection of spammers. A spammer's labels do not depend on the truth: all rows of the confusion matrix are equal.
# For every worker the evidence of the labels is computed under three models; the truth is estimated from the *other*
# workers:
#
#     spammer   label ~ Cat(p),                        p ~ Dir(1/2)
#     honest    label ~ Cat(confusion[truth]),         rows ~ distance · Dir(1/2), or distance · Dir(strength · mean)
#     expert    label ~ Cat(row[truth = c]),           one class c against the others, rows ~ distance · Dir(1/2)
#
# `distance` is the squared distance between the rows: a non-local prior (Johnson & Rossell 2010, JRSS B 72(2)). Without
# it the honest models allow equal rows too, and with two classes, whose rows have one parameter each, hundreds of
# labels do not separate a guesser from an honest worker. The evidence of the first model is exact, that of the others a
# variational bound (the truth is uncertain). The shares of the models and the honest mean are learned from the crowd.
# Constant and random spammers are one model. Workers who are wrong on purpose are no spammers but adversarial: their
# labels are as informative as an honest worker's. After Raykar & Yu (2012), Eliminating spammers and ranking
# annotators, JMLR 13(16).

# Least number of labels of a worker, least probability of a flag, and share of one class for a constant worker.
MIN_LABELS = 5
LEVEL = 0.9
ALWAYS = 0.95
# The excess agreement of a random worker with the others is below this share of the typical worker's.
TYPICAL = 0.65
# Least probability of an adversary. It is higher, because among many guessers some are unlucky.
ADVERSARIAL = 0.999
# Pseudo-workers of each model: spammers, honest workers near the mean, other honest workers, experts on one class.
PSEUDO = np.array([0.5, 2.0, 0.3, 0.3])
# Pseudo-labels per cell of other honest workers; below one, so that rows concentrate on few classes.
FREE = 0.5
# Candidate strengths of the prior at the honest mean, in pseudo-labels per class; rounds of the two loops.
STRENGTHS = (2.0, 5.0, 10.0, 20.0)
STEPS, ROUNDS = 12, 4


@dataclass(frozen=True)
class SpammerEstimate:
    """For each worker, the log odds of being a spammer by the labels alone and the posterior probability; the share of
    spammers in the crowd."""

    log_odds: F8
    probability: F8
    share: float


def estimate_spammers(annotations: Annotations, belief: F8) -> SpammerEstimate:
    """Estimate the probability that each worker is a spammer.

    Args:
        annotations: The votes.
        belief: belief[row, class], the posterior of the row's task without the row's worker. Labels on tasks that
            nobody else labelled carry no information and are ignored.
    """
    is_informative = _informative_rows(annotations, belief)
    annotations, belief = (
        (annotations, belief) if is_informative.all() else (annotations.take(is_informative), belief[is_informative])
    )
    n, k = annotations.labels_per_worker, annotations.n_classes
    is_judged = n >= MIN_LABELS
    if k < 2 or not is_judged.any():
        return SpammerEstimate(np.zeros(len(n)), np.full(len(n), 0.1), 0.1)
    label_counts = np.bincount(annotations.cell, minlength=len(n) * k).reshape(len(n), k).astype(np.float64)
    spammer = log_rows(label_counts, np.full(label_counts.shape[1], FREE), axis=1)
    individual, table = _informative(annotations, belief, np.full((1, k, k), FREE))
    expert = _experts(annotations, belief)
    share = PSEUDO / PSEUDO.sum()
    probability = np.full(len(n), 0.1)
    for _ in range(ROUNDS):
        p_honest = np.where(is_judged, 1 - probability, 0.0)
        mean = np.einsum("w,wkl->kl", p_honest, table) + np.eye(k) + 1.0 / k
        mean /= mean.sum(axis=1, keepdims=True)
        typical, _ = _informative(annotations, belief, (_strength(table[p_honest > 0.5], mean) * mean + 0.1)[None])
        evidence = np.stack([spammer, typical, individual, expert], axis=1)
        for _ in range(20):
            kind_probability = normalise_rows(evidence + np.log(share))[0]
            share = kind_probability[is_judged].sum(axis=0) + PSEUDO
            share /= share.sum()
        probability = kind_probability[:, 0]
    honest = np.log(share[1:] / share[1:].sum())
    odds = spammer - np.logaddexp.reduce(evidence[:, 1:] + honest, axis=1)
    return SpammerEstimate(odds, probability, float(share[0]))


def _informative_rows(annotations: Annotations, belief: F8) -> Mask:
    """Mask of the rows whose task was labelled by others too, or has gold."""
    task, m = annotations.task.astype(np.int64), annotations.n_workers
    workers = np.bincount(np.unique(task * m + annotations.worker) // max(m, 1), minlength=annotations.n_tasks)
    return np.asarray((workers[task] > 1) | (belief.max(axis=1, initial=0.0) == 1))


def _strength(table: F8, mean: F8) -> float:
    """Strength of the prior at the honest mean, in pseudo-labels per row, by the evidence of the workers' counts.

    It is bounded, because expected counts are smoother than real ones and would make all workers equal.
    """
    scores = [sum(log_evidence(table[:, k], mean[k], s) for k in range(len(mean))) for s in STRENGTHS]
    return STRENGTHS[int(np.argmax(scores))]


def _experts(annotations: Annotations, belief: F8) -> F8:
    """Evidence for a worker who only distinguishes one class, whichever it is, from the others.

    With many labels of common classes, an expert on a rare class resembles a spammer; with few tasks of the rare class
    the two cannot be separated, and the worker must not be accused.
    """
    k = annotations.n_classes
    if k == 2:  # the model of an honest worker covers this case
        return np.full(annotations.n_workers, -np.inf)
    prior = np.full((1, 2, k), FREE)
    evidence = [
        _informative(annotations, np.stack([belief[:, c], 1 - belief[:, c]], axis=1), prior)[0] for c in range(k)
    ]
    return np.asarray(np.logaddexp.reduce(evidence, axis=0) - np.log(k))


def _informative(annotations: Annotations, belief: F8, prior: F8) -> tuple[F8, F8]:
    """Evidence and counts of `_honest`, with the prior multiplied by the squared distance between the rows."""
    evidence, counts = _honest(annotations, belief, prior)
    return evidence + np.log(_row_distance(counts + prior) / _row_distance(prior)), counts


def _row_distance(rows: F8) -> F8:
    """Expected squared distance between two rows, summed over all pairs; rows[worker, true, observed] of Dirichlets."""
    total = rows.sum(axis=2, keepdims=True)
    mean = rows / total
    spread = (mean * (1 - mean) / (total + 1)).sum(axis=(1, 2))
    n = rows.shape[1]
    gaps = n * (mean**2).sum(axis=(1, 2)) - (mean.sum(axis=1) ** 2).sum(axis=1)
    return np.asarray((n - 1) * spread + np.maximum(gaps, 0.0))


def _honest(annotations: Annotations, belief: F8, prior: F8) -> tuple[F8, F8]:
    """Evidence (variational bound) of each worker's labels with an individual confusion matrix, and its counts."""
    m, k, n_rows = annotations.n_workers, annotations.n_classes, belief.shape[1]
    responsibility, counts = belief, np.zeros((m, n_rows, k))
    for _ in range(STEPS):
        for true in range(n_rows):
            counts[:, true] = np.bincount(annotations.cell, weights=responsibility[:, true], minlength=m * k).reshape(
                m, k
            )
        theta = np.exp(log_mean(counts + prior, axis=2))
        rows = belief * theta.transpose(0, 2, 1).reshape(m * k, n_rows)[annotations.cell]
        total = np.maximum(rows.sum(axis=1), 1e-300)
        responsibility = rows / total[:, None]
    log_likelihood = np.bincount(annotations.worker, weights=np.log(total), minlength=m)
    return log_likelihood - divergences(counts + prior, prior, axis=2).sum(axis=1), counts
