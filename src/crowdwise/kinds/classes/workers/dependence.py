"""Who copies whom, and who has agreed on wrong answers? The same answers, beyond what independent workers would give.

1. The crowd is fitted as if everybody worked alone, with levels of difficulty and common mistakes (`alone`).
2. Groups are looked for whose common answers copying explains far better, and tested member by member (`copying`).
3. A group that is found gets one voice, and whoever passes against it then joins it.
4. Whoever is found has no say in what the others are measured by: the rest is fitted again, until nobody is found.
Members who are mostly wrong are `colluding`, the others `copying` (who copies whom, the labels alone cannot say).
Fails where the ring is larger than the honest rest of a task: then it looks like the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from ....core.result import Result
from ....stats import information as channel
from ....stats.dirichlet import log_rows
from ....workers.flags import Flag, examples
from ..annotations import Annotations
from ..maths.factors import complete
from ..maths.moments import Pairs, pairs
from .copying import Ring, find_ring
from .independence_null import Alone, alone
from .judgement import Judgement, cells_of

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# The chance that anybody at all of an independent crowd is accused, if the model is true.
LEVEL = 0.001
# Groups looked for, at most.
RINGS = 20


def collusion_flags(annotations: Annotations, result: Result, level: float = LEVEL) -> list[Flag]:
    """Flags `colluding` and `copying` with adjusted p-values; the evidence counts the same answers.

    A gold task in the result counts as known: its posterior is certain.
    """
    return flags_of(Judgement(annotations, result), level)


def flags_of(judgement: Judgement, level: float = LEVEL) -> list[Flag]:
    """The same from a judgement."""
    votes = judgement.annotations
    if votes.n_classes < 2 or votes.n_workers < 3 or not len(votes):
        return []
    null = _null(judgement, votes)
    found: list[tuple[Alone, Ring]] = []
    while len(found) < RINGS:
        seen = find_ring(null, level, partial(_null, judgement, null.votes))
        if seen is None:
            break
        ring, fair = seen
        found.append((fair, ring))
        gone = np.isin(null.votes.worker, ring.workers)
        if gone.all():
            break
        null = _null(judgement, null.votes.take(~gone))
    belief = null.fit.posterior.sum(axis=2)
    return [flag for before, ring in found for flag in _flags(before, ring, belief)]


def _null(judgement: Judgement, votes: Annotations, together: Sequence[int] = ()) -> Alone:
    """Everybody alone; those `together` have one voice."""
    voice = np.ones(votes.n_workers)
    voice[list(together)] = 1 / max(len(together), 1)
    return alone(votes, np.where(judgement.known[:, None], judgement.posterior, 0.0), voice)


def _flags(null: Alone, ring: Ring, belief: F8) -> list[Flag]:
    """One flag a member; belief[task, class] is what those say of whom nothing is suspected."""
    votes = null.votes
    first, second = null.meetings()
    inside = np.isin(votes.worker[first], ring.workers) & np.isin(votes.worker[second], ring.workers)
    first, second = first[inside], second[inside]
    expected = null.matches(first, second)
    out = []
    for w, p in zip(ring.workers, ring.p_value, strict=True):
        mine = (votes.worker[first] == w) | (votes.worker[second] == w)
        rows = votes.worker == w
        right = float(belief[votes.task[rows], votes.label[rows]].mean())
        out.append(_flag(votes, belief, w, first[mine], second[mine], float(expected[mine].sum()), p, right))
    return out


def _flag(
    votes: Annotations, belief: F8, w: int, first: I8, second: I8, expected: float, p_value: float, right: float
) -> Flag:
    other = np.where(votes.worker[first] == w, votes.worker[second], votes.worker[first])
    same = votes.label[first] == votes.label[second]
    wrong = 1 - belief[votes.task[first], votes.label[first]]
    weight = np.bincount(other, weights=same * wrong + 1e-6 * same, minlength=votes.n_workers)
    partners = np.unique(other)
    partners = partners[np.argsort(-weight[partners], kind="stable")]
    names = tuple(votes.workers.gather(partners).to_list())
    more = f" and {len(names) - 1} more of one group" if len(names) > 1 else ""
    words = (
        f"gives the same answer as {names[0]}{more} on {same.sum()} of {len(same)} common tasks, where workers on "
        f"their own would on {expected:.0f}; of these answers {(same * wrong).sum():.0f} are wrong"
    )
    shown = np.flatnonzero(same & (wrong > 0.5))
    tasks = votes.task[first[shown[np.argsort(-wrong[shown], kind="stable")]]]
    name = "colluding" if right < 0.5 else "copying"
    return Flag(votes.workers[w], name, None, p_value, words, examples(votes, tasks), names)


# ----------------------------------------------------------------
# Do a worker's labels follow what the others say? Against the same labels dealt out at random to the same tasks.
# The sum of what the others believe of the labels has, over all their orders, a mean and a variance in closed form
# (Hoeffding 1951, doi:10.1214/aoms/1177729545): nothing is fitted, whatever the classes and their frequencies.

# Whose labels follow the others' by so many standard deviations tells something, whatever a model says.
FOLLOWS = 2.0
# Who is to be called uninformative must be below the bar by so many.
SURE = 3.0


@dataclass(frozen=True)
class Following:
    """Of each worker: how far the others confirm their labels beyond chance, a share, and its standard deviation;
    also that of labels in the proportions that the others have: who said one class only may have had no occasion."""

    beyond: F8
    error: F8
    usual_error: F8

    @property
    def score(self) -> F8:
        """The same in standard deviations."""
        return self.beyond / self.error

    def less_than(self, share: float, sure: float = SURE) -> npt.NDArray[np.bool_]:
        """Who follows the others by less than `share` of what the typical worker does, even by `sure` standard
        deviations more than was observed."""
        most = self.beyond + sure * np.maximum(self.error, self.usual_error)
        return np.asarray(most < share * max(float(np.median(self.beyond)), 0.0))


def follows_others(votes: Annotations, belief: F8) -> Following:
    """How far each worker follows the others, given belief[row, class] without them."""
    m, k, who = votes.n_workers, votes.n_classes, votes.worker
    n = np.maximum(votes.labels_per_worker.astype(np.float64), 2.0)
    said = np.bincount(votes.cell, minlength=m * k).reshape(m, k) / n[:, None]  # worker, label
    mean = np.stack([np.bincount(who, weights=belief[:, c], minlength=m) for c in range(k)], axis=1) / n[:, None]
    got = np.bincount(who, weights=belief[np.arange(len(votes)), votes.label], minlength=m)

    def error(share: F8) -> F8:
        """Every label in every task's place: the variance within rows and columns of that table."""
        cells = np.bincount(who, weights=(share[who] * belief**2).sum(axis=1), minlength=m) / n
        tasks = np.bincount(who, weights=(share[who] * belief).sum(axis=1) ** 2, minlength=m) / n
        within = cells - tasks - (share * mean**2).sum(axis=1) + (share * mean).sum(axis=1) ** 2
        return np.asarray(np.sqrt(np.maximum(within / (n - 1), 1e-12 / n**2)))

    return Following(got / n - (said * mean).sum(axis=1), error(said), error(mean))


def others_votes(votes: Annotations) -> F8:
    """belief[row, class]: shares of the votes of the row's task without the worker's own; even where none is left."""
    left = votes.votes[votes.task].astype(np.float64)
    pair = votes.task.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
    _, place = np.unique(pair, return_inverse=True)
    own = np.zeros((int(place.max(initial=-1)) + 1, votes.n_classes))
    np.add.at(own, (place, votes.label), np.ones(len(votes)) if votes.weight is None else votes.weight)
    left = np.maximum(left - own[place], 0.0) + 1e-9
    return np.asarray(left / left.sum(axis=1, keepdims=True))


# ----------------------------------------------------------------
# Who shares a signal with anybody? Workers whose labels do not covary with the others' carry none.
# With labels coded one-hot, the covariance of two workers is B[m, m'] = R[m, m'] - mean[m] mean[m']^T (K × K, over
# their common tasks). Given the truth they err independently, so off the diagonal B = V V^T with V of rank K - 1, and
# a spammer's block of V is zero. V is found by imputing what is not seen (the diagonal, and pairs who never met) from
# V itself, and the workers are split in two by the norms of their blocks. Algorithm 1 of the tutorial of Ibrahim, Fu,
# Traganitis & Giannakis (2025), Learning from crowdsourced noisy labels. Fails where most workers are honest but
# weak: the split puts them with the spammers.

# A worker with fewer labels, or who met nobody on this many tasks, is unknown; a pair counts from MIN_COMMON on.
MIN_LABELS = 5
MIN_COMMON = 2
# The covariance of a pair with n common tasks counts n / (n + PSEUDO): chance alone gives few tasks large ones.
PSEUDO = 40.0
# Of what the typical worker does, an uninformative one follows the others by less than this share.
SHARE = 0.25


@dataclass(frozen=True)
class Signal:
    """norm[worker] of their part in the common signal, whether they can be judged or have none, and the cut."""

    norm: F8
    known: npt.NDArray[np.bool_]
    uninformative: npt.NDArray[np.bool_]
    threshold: float


def shared_signal(annotations: Annotations, max_iter: int = 60, tol: float = 1e-5) -> Signal:
    """The norms of the workers' blocks and the split of them in two."""
    m, k = annotations.n_workers, annotations.n_classes
    nothing = Signal(np.zeros(m), np.zeros(m, dtype=bool), np.zeros(m, dtype=bool), 0.0)
    if k < 2 or len(annotations) == 0:
        return nothing
    seen = pairs(annotations, MIN_COMMON)
    known = seen.reached() & (annotations.labels_per_worker >= MIN_LABELS)
    if known.sum() < 3:
        return nothing
    v = complete(*_blocks(seen), m * k, k - 1, max_iter, tol)
    norm = np.sqrt((v.reshape(m, k, -1) ** 2).sum(axis=(1, 2)))
    cut = two_means(norm[known])
    return Signal(norm, known, known & (norm <= cut), cut)


def _blocks(seen: Pairs) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], F8]:
    """Covariances of all pairs as entries (row, column, value) of the one-hot covariance matrix, both ways."""
    share = seen.share
    cov = share - share.sum(axis=2)[:, :, None] * share.sum(axis=1)[:, None, :]
    cov *= (seen.n / (seen.n + PSEUDO))[:, None, None]
    k = share.shape[1]
    a, b = np.indices((k, k))
    row = (seen.first[:, None, None] * k + a).ravel()
    col = (seen.second[:, None, None] * k + b).ravel()
    return np.concatenate([row, col]), np.concatenate([col, row]), np.tile(cov.ravel(), 2)


def two_means(x: F8) -> float:
    """The cut between two clusters of numbers, started from the extremes (k-means in one dimension)."""
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
    """A flag `uninformative` for every worker without a part in the common signal; `unknown` for who met too few.

    The split always finds two groups, in a crowd of good workers too. So only those are flagged whose labels surely
    follow the others' votes by less than `share` of what the typical worker's do; with infinity the split alone
    decides, as in the tutorial.
    """
    seen = shared_signal(annotations)
    nothing = seen.uninformative
    if nothing.any() and np.isfinite(share):
        nothing = nothing & follows_others(annotations, others_votes(annotations)).less_than(share)
    out = []
    for w in range(annotations.n_workers):
        name = annotations.workers[w]
        if not seen.known[w]:
            few = f"{annotations.labels_per_worker[w]} labels on tasks shared with others are too few"
            out.append(Flag(name, "unknown", evidence=few))
        elif nothing[w]:
            words = (
                f"part in the signal that workers share: {seen.norm[w]:.3f}; informative workers have more than "
                f"{seen.threshold:.3f}"
            )
            out.append(Flag(name, "uninformative", evidence=words))
    return out


# ----------------------------------------------------------------
# How far does a worker's answer depend on the truth? Raykar and Yu's spammer score, with an interval.
# A matrix of K × K cells from a few labels is mostly noise, and noise looks like dependence. So rows are held to what
# a worker of this skill does in this crowd,
#
#     skill ~ its interval,    rows[k] ~ Dir(strength · centre[k](skill) + labels[k]),    score of the rows drawn,
#
# where the centre is the crowd's mean confusion, its diagonal moved in logits to the skill, the labels count as far
# as their task's class is certain (Louis), and the strength is learnt from the crowd: how alike its workers are.
# Raykar & Yu (2012), JMLR 13(16), section 3.

# Draws behind an interval, and cells drawn at a time.
DRAWS = 200
_CELLS = 10_000_000
# Strengths tried: pseudo-labels a class behind the centre.
STRENGTHS = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
# No skill is nearer to zero or one: its logit must exist.
EDGE = 1e-3


def spammer_scores(judgement: Judgement) -> tuple[F8, F8, F8]:
    """The score of each worker with a 95 % interval: 0 for who answers without looking."""
    m, k = judgement.annotations.n_workers, judgement.annotations.n_classes
    if k < 2:
        return np.zeros(m), np.zeros(m), np.zeros(m)
    cells, effective = cells_of(judgement)
    # Each row at its effective number of labels, the mean over its cells.
    kept = (cells.mean * effective).sum(axis=2) / np.maximum(judgement.counts.sum(axis=2), 1e-12)
    labels = judgement.counts * np.minimum(kept, 1.0)[:, :, None]
    result, centre = judgement.result, _centre(judgement)
    skill, low, high = (_logit(x) for x in (result.skill, result.skill_low, result.skill_high))
    strength = _strength(labels, centre(skill))
    rng, out = np.random.default_rng(0), np.zeros((2, m))
    step = max(1, _CELLS // (DRAWS * k * k))
    for start in range(0, m, step):
        part = slice(start, start + step)
        luck = rng.standard_normal((DRAWS, len(skill[part])))
        # Half of a normal to each side, as wide as the interval there.
        side = np.where(luck > 0, high[part] - skill[part], skill[part] - low[part]) / 1.96
        table = strength * centre(skill[part] + luck * np.maximum(side, 0.0)) + labels[part]
        drawn = rng.standard_gamma(np.maximum(table, 1e-6)) + 1e-300
        score = channel.spammer_score(drawn / drawn.sum(axis=3, keepdims=True))
        out[:, part] = np.quantile(score, [0.025, 0.975], axis=0)
    mean = _mean(strength * centre(skill) + labels)
    return mean, np.minimum(out[0], mean), np.maximum(out[1], mean)


def _mean(table: F8) -> F8:
    """The expected score of rows ~ Dir(table): that of their means, and what their variances add."""
    size = table.sum(axis=2, keepdims=True)
    p = table / size
    return np.asarray(channel.spammer_score(p) + (p * (1 - p) / (size + 1)).sum(axis=(1, 2)) / table.shape[1])


def _logit(share: F8) -> F8:
    p = np.clip(share, EDGE, 1 - EDGE)
    return np.asarray(np.log(p / (1 - p)))


def _centre(judgement: Judgement) -> Callable[[F8], F8]:
    """What the crowd does, as a function of a worker's skill in logits: [..., true, observed]."""
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
    """How alike the workers are, given centre[worker, true, observed]: by the evidence of their labels."""

    def evidence(strength: float) -> float:
        return float(log_rows(labels, strength * np.maximum(centre, 1e-9), axis=2).sum())

    return max(STRENGTHS, key=evidence)
