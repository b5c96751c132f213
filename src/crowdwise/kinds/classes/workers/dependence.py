"""Detection of copying and collusion: more equal answers than independent workers would give.

1. The crowd is fitted as if all workers were independent, with levels of difficulty and common mistakes
   (`independence_null`).
2. Groups whose equal answers are far better explained by copying are searched for and tested (`copying`).
3. A significant group gets the weight of one worker, and further workers who pass the test against it are added.
4. Its members are removed and the model is fitted to the others again, until no group is significant.
Members who are mostly wrong are `colluding`, the others `copying` (labels do not show the direction of copying).
Fails where the group is larger than the honest majority of a task: then its labels look like the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ....core.arrays import F8, I8, Mask
from ....core.result import Result
from ....em.rows import row_weights
from ....stats import information as channel
from ....stats.dirichlet import log_rows
from ....workers.flags import Flag, examples
from ..annotations import Annotations
from ..maths.factors import complete_matrix
from ..maths.moments import PairTables, pairs
from .copying import CopyingGroup, find_copying_group
from .independence_null import IndependenceNull, fit_independence_null
from .judgement import Judgement, cells_of

# Probability that any worker of an independent crowd is flagged, if the model is true.
LEVEL = 0.001
# Most groups that are searched for.
MAX_GROUPS = 20


def collusion_flags(annotations: Annotations, result: Result, level: float = LEVEL) -> list[Flag]:
    """Flag `colluding` and `copying` workers with adjusted p-values and the number of equal answers as evidence.

    Args:
        annotations: The votes.
        result: A result fitted on these votes. Its gold is held fixed.
        level: Probability of any false flag in an independent crowd.
    """
    return flags_of(Judgement(annotations, result), level)


def flags_of(judgement: Judgement, level: float = LEVEL) -> list[Flag]:
    """Like `collusion_flags`, from a judgement."""
    votes = judgement.annotations
    if votes.n_classes < 2 or votes.n_workers < 3 or not len(votes):
        return []
    null = _null(judgement, votes)
    groups: list[tuple[IndependenceNull, CopyingGroup]] = []
    while len(groups) < MAX_GROUPS:
        candidate = find_copying_group(null, level, partial(_null, judgement, null.votes))
        if candidate is None:
            break
        ring, group_null = candidate
        groups.append((group_null, ring))
        in_group = np.isin(null.votes.worker, ring.workers)
        if in_group.all():
            break
        null = _null(judgement, null.votes.take(~in_group))
    belief = null.fit.posterior.sum(axis=2)
    return [flag for group_null_, ring in groups for flag in _flags(group_null_, ring, belief)]


def _null(judgement: Judgement, votes: Annotations, group: Sequence[int] = ()) -> IndependenceNull:
    """Fit the independence null; the workers in `group` together have the weight of one."""
    vote_weight = np.ones(votes.n_workers)
    vote_weight[list(group)] = 1 / max(len(group), 1)
    return fit_independence_null(votes, np.where(judgement.is_gold[:, None], judgement.posterior, 0.0), vote_weight)


def _flags(null: IndependenceNull, ring: CopyingGroup, belief: F8) -> list[Flag]:
    """One flag per member; belief[task, class] is the posterior by the workers who are in no group."""
    votes = null.votes
    first, second = null.label_pairs()
    inside = np.isin(votes.worker[first], ring.workers) & np.isin(votes.worker[second], ring.workers)
    first, second = first[inside], second[inside]
    expected = null.match_probability(first, second)
    out = []
    for w, p in zip(ring.workers, ring.p_value, strict=True):
        is_member = (votes.worker[first] == w) | (votes.worker[second] == w)
        rows = votes.worker == w
        right = float(belief[votes.task[rows], votes.label[rows]].mean())
        out.append(
            _flag(votes, belief, w, first[is_member], second[is_member], float(expected[is_member].sum()), p, right)
        )
    return out


def _flag(
    votes: Annotations, belief: F8, w: int, first: I8, second: I8, expected: float, p_value: float, right: float
) -> Flag:
    partner = np.where(votes.worker[first] == w, votes.worker[second], votes.worker[first])
    same = votes.label[first] == votes.label[second]
    wrong = 1 - belief[votes.task[first], votes.label[first]]
    weight = np.bincount(partner, weights=same * wrong + 1e-6 * same, minlength=votes.n_workers)
    partners = np.unique(partner)
    partners = partners[np.argsort(-weight[partners], kind="stable")]
    names = tuple(votes.workers.gather(partners).to_list())
    others_text = f" and {len(names) - 1} more of one group" if len(names) > 1 else ""
    evidence = (
        f"gives the same answer as {names[0]}{others_text} on {same.sum()} of {len(same)} common tasks, where "
        f"independent workers would on {expected:.0f}; of these answers {(same * wrong).sum():.0f} are wrong"
    )
    examples_ = np.flatnonzero(same & (wrong > 0.5))
    tasks = votes.task[first[examples_[np.argsort(-wrong[examples_], kind="stable")]]]
    name = "colluding" if right < 0.5 else "copying"
    return Flag(votes.workers[w], name, None, p_value, evidence, examples(votes, tasks), names)


# ----------------------------------------------------------------
# Excess agreement of a worker with the others, compared with the same labels assigned to the same tasks at random.
# The sum of the others' probabilities of the labels has, over all permutations, a mean and a variance in closed form
# (Hoeffding 1951, doi:10.1214/aoms/1177729545), without a model and for any class frequencies.

# Labels that agree with the others by this many standard deviations are informative, whatever a model estimates.
MIN_Z = 2.0
# An uninformative worker must be below the threshold by this many standard deviations.
SURE = 3.0


@dataclass(frozen=True)
class ExcessConfirmation:
    """For each worker, the share by which the others confirm the labels beyond chance, and its standard deviation.

    `crowd_error` is the standard deviation for labels with the class proportions of the others, because the tasks of a
    worker who gave only one class may all be of this class.
    """

    excess: F8
    error: F8
    crowd_error: F8

    @property
    def score(self) -> F8:
        """Excess in standard deviations."""
        return self.excess / self.error

    def less_than(self, share: float, sure: float = SURE) -> Mask:
        """Mask of the workers whose excess plus `sure` standard deviations is below `share` of the median excess."""
        upper = self.excess + sure * np.maximum(self.error, self.crowd_error)
        return np.asarray(upper < share * max(float(np.median(self.excess)), 0.0))


def excess_confirmation(votes: Annotations, belief: F8) -> ExcessConfirmation:
    """Compute the excess confirmation of each worker, given belief[row, class] without the row's worker."""
    m, k, worker = votes.n_workers, votes.n_classes, votes.worker
    n = np.maximum(votes.labels_per_worker.astype(np.float64), 2.0)
    label_share = np.bincount(votes.cell, minlength=m * k).reshape(m, k) / n[:, None]  # worker, label
    mean = np.stack([np.bincount(worker, weights=belief[:, c], minlength=m) for c in range(k)], axis=1) / n[:, None]
    confirmed = np.bincount(worker, weights=belief[np.arange(len(votes)), votes.label], minlength=m)

    def error(share: F8) -> F8:
        """Standard deviation over all permutations of labels with these class shares."""
        cells = np.bincount(worker, weights=(share[worker] * belief**2).sum(axis=1), minlength=m) / n
        tasks = np.bincount(worker, weights=(share[worker] * belief).sum(axis=1) ** 2, minlength=m) / n
        within = cells - tasks - (share * mean**2).sum(axis=1) + (share * mean).sum(axis=1) ** 2
        return np.asarray(np.sqrt(np.maximum(within / (n - 1), 1e-12 / n**2)))

    return ExcessConfirmation(confirmed / n - (label_share * mean).sum(axis=1), error(label_share), error(mean))


def votes_of_others(votes: Annotations) -> F8:
    """Return belief[row, class], the vote shares on the row's task without the worker's votes; uniform if none."""
    others = votes.votes[votes.task].astype(np.float64)
    pair = votes.task.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
    _, pair_index = np.unique(pair, return_inverse=True)
    own_votes = np.zeros((int(pair_index.max(initial=-1)) + 1, votes.n_classes))
    np.add.at(own_votes, (pair_index, votes.label), row_weights(votes))
    others = np.maximum(others - own_votes[pair_index], 0.0) + 1e-9
    return np.asarray(others / others.sum(axis=1, keepdims=True))


# ----------------------------------------------------------------
# Shared signal: workers whose labels do not covary with those of the others are uninformative.
# With one-hot labels, the covariance of two workers is B[m, m'] = R[m, m'] - mean[m] mean[m']^T (K × K, over their
# common tasks). Given the truth they err independently, so off the diagonal B = V V^T with V of rank K - 1, and a
# spammer's block of V is zero. V is computed by imputing the missing blocks (the diagonal, and pairs without common
# tasks) from V itself, and the workers are split in two by the norms of their blocks. Algorithm 1 of the tutorial of
# Ibrahim, Fu, Traganitis & Giannakis (2025), Learning from crowdsourced noisy labels. Fails where most workers are
# honest but weak: the split groups them with the spammers.

# Least number of labels of a worker, and of common tasks of a pair.
MIN_LABELS = 5
MIN_COMMON = 2
# The covariance of a pair with n common tasks is shrunk by n / (n + PSEUDO), because few tasks give large ones by
# chance.
PSEUDO = 40.0
# The excess agreement of an uninformative worker with the others is below this share of the typical worker's.
SHARE = 0.25


@dataclass(frozen=True)
class Signal:
    """norm[worker] of the share in the common signal, whether it is known and whether it is nil, and the threshold."""

    norm: F8
    is_known: Mask
    uninformative: Mask
    threshold: float


def shared_signal(annotations: Annotations, max_iter: int = 60, tol: float = 1e-5) -> Signal:
    """Compute the norms of the workers' blocks and split the workers in two."""
    m, k = annotations.n_workers, annotations.n_classes
    empty = Signal(np.zeros(m), np.zeros(m, dtype=bool), np.zeros(m, dtype=bool), 0.0)
    if k < 2 or len(annotations) == 0:
        return empty
    pair_tables = pairs(annotations, MIN_COMMON)
    is_known = pair_tables.has_pairs() & (annotations.labels_per_worker >= MIN_LABELS)
    if is_known.sum() < 3:
        return empty
    v = complete_matrix(*_blocks(pair_tables), m * k, k - 1, max_iter, tol)
    norm = np.sqrt((v.reshape(m, k, -1) ** 2).sum(axis=(1, 2)))
    cut = two_means(norm[is_known])
    return Signal(norm, is_known, is_known & (norm <= cut), cut)


def _blocks(pair_tables: PairTables) -> tuple[I8, I8, F8]:
    """Entries (row, column, value) of the symmetric one-hot covariance matrix."""
    share = pair_tables.share
    cov = share - share.sum(axis=2)[:, :, None] * share.sum(axis=1)[:, None, :]
    cov *= (pair_tables.n / (pair_tables.n + PSEUDO))[:, None, None]
    k = share.shape[1]
    a, b = np.indices((k, k))
    row = (pair_tables.first[:, None, None] * k + a).ravel()
    col = (pair_tables.second[:, None, None] * k + b).ravel()
    return np.concatenate([row, col]), np.concatenate([col, row]), np.tile(cov.ravel(), 2)


def two_means(x: F8) -> float:
    """Return the threshold between two clusters of numbers (k-means in one dimension, started at the extremes)."""
    low, high = float(x.min()), float(x.max())
    for _ in range(100):
        cut = (low + high) / 2
        left, right = x[x <= cut], x[x > cut]
        if not len(left) or not len(right):
            break
        if low == left.mean() and high == right.mean():
            break
        low, high = float(left.mean()), float(right.mean())
    return (low + high) / 2


def covariance_flags(annotations: Annotations, share: float = SHARE) -> list[Flag]:
    """Flag `uninformative` workers, who have no share in the common signal, and `unknown` ones with too little overlap.

    The split always finds two groups, even in a crowd of good workers. Therefore a flag also requires that the excess
    agreement with the others' votes is significantly below a share of the typical worker's.

    Args:
        annotations: The votes.
        share: That share; infinity uses the split alone, as in the tutorial.
    """
    signal = shared_signal(annotations)
    uninformative = signal.uninformative
    if uninformative.any() and np.isfinite(share):
        uninformative = uninformative & excess_confirmation(annotations, votes_of_others(annotations)).less_than(share)
    out = []
    for w in range(annotations.n_workers):
        name = annotations.workers[w]
        if not signal.is_known[w]:
            evidence = f"{annotations.labels_per_worker[w]} labels on tasks shared with others are too few"
            out.append(Flag(name, "unknown", evidence=evidence))
        elif uninformative[w]:
            evidence_ = (
                f"share in the signal common to the workers: {signal.norm[w]:.3f}; informative workers have more than "
                f"{signal.threshold:.3f}"
            )
            out.append(Flag(name, "uninformative", evidence=evidence_))
    return out


# ----------------------------------------------------------------
# Raykar and Yu's spammer score, the dependence of a worker's label on the truth, with an interval.
# A matrix of K × K cells from a few labels is mostly noise, and noise looks like dependence. So rows are shrunk to
# those of a worker with this skill in this crowd,
#
#     skill ~ its interval,    rows[k] ~ Dir(strength · centre[k](skill) + labels[k]),    score of the rows drawn,
#
# where the centre is the crowd's mean confusion matrix with its diagonal shifted in logits to the skill, labels are
# weighted by the certainty of their task's class (Louis), and the strength, the similarity of the workers, is learned
# from the crowd. Raykar & Yu (2012), JMLR 13(16), section 3.

# Draws for an interval, and cells drawn at a time.
DRAWS = 200
_CELLS = 10_000_000
# Candidate strengths, in pseudo-labels per class at the centre.
STRENGTHS = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
# Bound of skills from zero and one, so that their logits exist.
EDGE = 1e-3


def spammer_scores(judgement: Judgement) -> tuple[F8, F8, F8]:
    """Compute the score of each worker with a 95 % interval: 0 for labels that do not depend on the task."""
    m, k = judgement.annotations.n_workers, judgement.annotations.n_classes
    if k < 2:
        return np.zeros(m), np.zeros(m), np.zeros(m)
    cells, effective = cells_of(judgement)
    # Scale every row to its effective number of labels, the mean over its cells.
    information_share = (cells.mean * effective).sum(axis=2) / np.maximum(judgement.counts.sum(axis=2), 1e-12)
    labels = judgement.counts * np.minimum(information_share, 1.0)[:, :, None]
    result, centre = judgement.result, _centre(judgement)
    skill, low, high = (_logit(x) for x in (result.skill, result.skill_low, result.skill_high))
    strength = _strength(labels, centre(skill))
    rng, out = np.random.default_rng(0), np.zeros((2, m))
    step = max(1, _CELLS // (DRAWS * k * k))
    for start in range(0, m, step):
        part = slice(start, start + step)
        normal = rng.standard_normal((DRAWS, len(skill[part])))
        # Half normals on both sides, with the widths of the interval.
        half_width = np.where(normal > 0, high[part] - skill[part], skill[part] - low[part]) / 1.96
        table = strength * centre(skill[part] + normal * np.maximum(half_width, 0.0)) + labels[part]
        drawn = rng.standard_gamma(np.maximum(table, 1e-6)) + 1e-300
        score = channel.spammer_score(drawn / drawn.sum(axis=3, keepdims=True))
        out[:, part] = np.quantile(score, [0.025, 0.975], axis=0)
    mean = _mean(strength * centre(skill) + labels)
    return mean, np.minimum(out[0], mean), np.maximum(out[1], mean)


def _mean(table: F8) -> F8:
    """Expected score of rows ~ Dir(table): the score of their means plus the contribution of their variances."""
    size = table.sum(axis=2, keepdims=True)
    p = table / size
    return np.asarray(channel.spammer_score(p) + (p * (1 - p) / (size + 1)).sum(axis=(1, 2)) / table.shape[1])


def _logit(share: F8) -> F8:
    p = np.clip(share, EDGE, 1 - EDGE)
    return np.asarray(np.log(p / (1 - p)))


def _centre(judgement: Judgement) -> Callable[[F8], F8]:
    """Mean confusion matrix of the crowd [..., true, observed], as a function of a worker's skill in logits."""
    from scipy.special import expit

    k = judgement.annotations.n_classes
    same = np.arange(k)
    crowd = judgement.counts.sum(axis=0) + np.eye(k) + 1.0 / k
    crowd /= crowd.sum(axis=1, keepdims=True)
    diagonal, wrong = _logit(crowd[same, same]), crowd.copy()
    wrong[same, same] = 0.0
    wrong /= wrong.sum(axis=1, keepdims=True)
    prior = np.maximum(judgement.result.class_prior, 1e-12)
    mean = _logit(np.array(float(prior @ crowd[same, same] / prior.sum())))

    def at(skill: F8) -> F8:
        right = np.asarray(expit(diagonal + (skill - mean)[..., None]))
        out: F8 = (1 - right)[..., None] * wrong
        out[..., same, same] = right
        return out

    return at


def _strength(labels: F8, centre: F8) -> float:
    """Strength with the highest evidence of the labels, given centre[worker, true, observed]."""

    def evidence(strength: float) -> float:
        return float(log_rows(labels, strength * np.maximum(centre, 1e-9), axis=2).sum())

    return max(STRENGTHS, key=evidence)
