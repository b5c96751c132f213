"""Weighted votes: methods with one weight per worker, and what they share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from ....core.arrays import F8, I4, I8
from ....core.errors import DataError
from ....core.order import offsets
from ....core.params import Count, NonNegative, Positive, PositiveShare
from ....em import journal
from ....em.kernels import Workspace
from ....em.loop import Additive, plus
from ....em.rows import LabelRows, row_weights
from ....stats.logspace import normalise_rows, shares
from ....stats.ties import tie_shares
from ..annotations import Annotations
from ..maths.judges import RaterRows, choose_strength, soft_labels
from .base import Aggregator, PartitionedAggregator, SolveOptions
from .gold import ClassOrder, GoldLabels
from .partitioned import FitState, PartitionedVotes, PartPosterior, Solution, clamped, mean_posterior

# ----------------------------------------------------------------
# Votes for samplers: classes in the order of their first appearance, one row per worker and answer. A sampler's draws
# depend on the position of the classes; in this order, renaming the classes does not change its answer. Classes without
# labels are exchangeable, and their estimates are averaged.


@dataclass(frozen=True)
class SamplerRows:
    """Rows sorted by task, with labels by rank.

    `weight` and `before` are empty when all rows have weight one and no worker has two on a task; otherwise before[row]
    is the weight of the same worker's earlier rows on the task.
    """

    offset: I8
    task: I4
    worker: I4
    label: I4
    weight: F8
    before: F8

    @classmethod
    def of(cls, votes: Annotations, order: ClassOrder) -> SamplerRows:
        """Merge equal rows of one worker and leave out rows of weight zero."""
        task, worker, label = votes.task, votes.worker, order.rank[votes.label]
        has_repeats = bool((np.diff(task.astype(np.int64) * votes.n_workers + worker) == 0).any())
        weight = before = np.empty(0)
        if votes.weight is not None or has_repeats:
            key = (task.astype(np.int64) * votes.n_workers + worker) * votes.n_classes + label
            rows, row_of_key = np.unique(key, return_inverse=True)
            weight = np.bincount(row_of_key, weights=votes.weight, minlength=len(rows)).astype(np.float64)
            rows, weight = rows[weight > 0], weight[weight > 0]
            pair, label = rows // votes.n_classes, (rows % votes.n_classes).astype(np.int32)
            task, worker = (part.astype(np.int32) for part in np.divmod(pair, votes.n_workers))
            running = np.cumsum(weight) - weight
            first = np.searchsorted(pair, pair)
            before = running - running[first] if len(first) else running
        return cls(offsets(task, votes.n_tasks), task, worker, label, weight, before)


# ----------------------------------------------------------------
# Weighted votes, and how scores become posteriors.


@dataclass(frozen=True)
class Weights:
    """Weight of each worker. With a `scale` the posterior is softmax(scale · score), else the share of the score."""

    weight: F8
    scale: float | None = None
    n_iter: int = 1
    converged: bool = True


@dataclass(frozen=True, kw_only=True)
class VoteAggregator(Aggregator):
    """Each worker has one weight; the class with the heaviest votes wins."""

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:  # noqa: ARG002
        """Compute the weights, then take one weighted vote."""
        vote = self.weights(annotations, gold)
        posterior = posterior_of(annotations, vote.weight, vote.scale)
        if gold is not None:
            posterior = gold.clamp(posterior)
        extra = {"vote_weight": vote.weight, "vote_scale": vote.scale}
        return Solution(posterior, posterior.mean(axis=0), n_iter=vote.n_iter, converged=vote.converged, extra=extra)

    @abstractmethod
    def weights(self, annotations: Annotations, gold: GoldLabels | None) -> Weights:
        """Return the weight of each worker."""


def scores(annotations: LabelRows, weight: F8) -> F8:
    """Return score[task, class]: the summed weights of the workers who gave the task this class."""
    n, k = annotations.n_tasks, annotations.n_classes
    w = weight[annotations.worker]
    if annotations.weight is not None:
        w = w * annotations.weight
    flat = annotations.task.astype(np.int64) * k + annotations.label
    # Without rows bincount returns integers.
    return np.bincount(flat, weights=w, minlength=n * k).astype(np.float64).reshape(n, k)


def posterior_of(annotations: LabelRows, weight: F8, scale: float | None, prior: F8 | None = None) -> F8:
    """Return the scores as probabilities.

    Where all voters of a task have weight zero, they count equally. prior[class] is added to the scores.
    """
    score = scores(annotations, weight)
    if prior is not None:
        score += prior
    if scale is not None:
        return normalise_rows(scale * score)[0]
    no_weight = score.sum(axis=1) <= 0
    if no_weight.any():
        score = np.where(no_weight[:, None], annotations.count_votes(), score)
    return shares(score)


@dataclass(frozen=True)
class ConsensusAgreement(Additive):
    """Weight of each worker's labels and of those that agree with a consensus, and the number of changed winners.

    Attributes:
        n: Summed weight of the labels of each worker.
        hits: Summed weight of those that agree.
        moved: Number of tasks whose winners have changed, as an array of one.
    """

    n: F8
    hits: F8
    moved: F8

    def share(self) -> F8:
        """Return the agreement rate of each worker; a worker without labels gets the crowd's mean."""
        n, total = self.n, self.n.sum()
        crowd = self.hits.sum() / total if total > 0 else 1.0
        return np.where(n > 0, self.hits / np.where(n > 0, n, 1.0), crowd)


def agreement_with(rows: LabelRows, target: F8, moved: int = 0) -> ConsensusAgreement:
    """Return the agreement of the workers with target[task, class]."""
    return ConsensusAgreement(*sums_by_worker(rows, target[rows.task, rows.label]), np.array([float(moved)]))


def sums_by_worker(rows: LabelRows, values: F8) -> tuple[F8, F8]:
    """Return the summed weight of the rows of each worker, and the weighted sum of values[row]."""
    w = row_weights(rows)
    n, total = (np.bincount(rows.worker, weights=x, minlength=rows.n_workers) for x in (w, w * values))
    return n.astype(np.float64), total.astype(np.float64)


# ----------------------------------------------------------------
# Votes whose weights are sums over parts: agreement with a consensus, which each part computes for its own tasks.

# How a tied majority counts when worker agreement is measured: split between the winners, or given to the first.
Ties = Literal["split", "first"]


@dataclass(frozen=True, kw_only=True)
class PartitionedVoteAggregator(PartitionedAggregator):
    """Each worker has one weight, computed by passes over parts; the class with the heaviest votes wins."""

    def learn(self, data: PartitionedVotes, options: SolveOptions) -> FitState:  # noqa: ARG002
        """Compute the weights, then take one weighted vote."""
        vote = self.weigh(data)
        predictor = WeightedVote(vote.weight, vote.scale)
        return FitState(
            predictor=predictor,
            class_prior=mean_posterior(data, predictor),
            n_iter=vote.n_iter,
            converged=vote.converged,
            extra={"vote_weight": vote.weight, "vote_scale": vote.scale},
        )

    @abstractmethod
    def weigh(self, data: PartitionedVotes) -> Weights:
        """Return the weight of each worker."""


@dataclass(frozen=True, eq=False)
class WeightedVote:
    """A vote with weight[worker], a scale, and prior[class] added to the scores."""

    weight: F8
    scale: float | None
    prior: F8 | None = None

    def __call__(self, space: Workspace) -> PartPosterior:
        """Posterior of a part's tasks, with certainty on gold."""
        return PartPosterior(clamped(space, posterior_of(space.shard, self.weight, self.scale, self.prior)))


def consensus(space: Workspace, weight: F8 | None, ties: Ties = "split") -> F8:
    """Return the winning class of each task as a row of shares, with certainty on gold; None weighs all workers one."""
    score = space.shard.count_votes() if weight is None else scores(space.shard, weight)
    won = tie_shares(score)
    if ties == "first":
        won = np.eye(score.shape[1])[won.argmax(axis=1)]
    return clamped(space, won)


def consensus_agreement(data: PartitionedVotes, weight: F8 | None, ties: Ties = "split") -> ConsensusAgreement:
    """Return the agreement of the workers with the consensus under these weights."""
    return data.sum(partial(_agree, weight, ties), plus)


def _agree(weight: F8 | None, ties: Ties, space: Workspace) -> ConsensusAgreement:
    return agreement_with(space.shard, consensus(space, weight, ties))


def refine(data: PartitionedVotes, weigh: Callable[[F8, F8], F8], scale: float, max_iter: int) -> Weights:
    """Alternate between voting and weighing until the winners stay.

    Args:
        data: The votes.
        weigh: Returns the weights for (accuracy, number of labels).
        scale: Scale of the posterior.
        max_iter: The most rounds.
    """
    checkpoint = journal.loop_checkpoint()
    saved = checkpoint.read()
    if saved is None:
        agreement, before, iteration, converged = consensus_agreement(data, None), None, 0, False
    else:  # an interrupted loop resumes and ends with the same bits
        agreement = ConsensusAgreement(**{column.name: saved[column.name] for column in fields(ConsensusAgreement)})
        before, iteration, converged = saved["weight"], int(saved["passes"]), bool(saved["converged"])
    while iteration < max_iter and not converged:
        iteration += 1
        weight = weigh(agreement.share(), agreement.n)
        agreement = data.sum(partial(_vote_again, before, weight), plus)
        before = weight
        converged = not agreement.moved[0]
        checkpoint.write(iteration, converged, weight=weight, converged=converged, **vars(agreement))
    assert before is not None  # there is at least one round
    return Weights(before, scale, iteration, converged)


def _vote_again(before: F8 | None, weight: F8, space: Workspace) -> ConsensusAgreement:
    """ConsensusAgreement with the new winners, and the number of tasks whose winners changed.

    The old winners are computed again where they are not cached.
    """
    old = None if before is None else space.memory.recall(before)
    old = consensus(space, before) if old is None else old
    new = consensus(space, weight)
    space.memory.keep(weight, new)
    return agreement_with(space.shard, new, int((new != old).any(axis=1).sum()))


# ----------------------------------------------------------------
# The methods.

# Mean squared residual of a unanimous crowd: without it the precisions would be unbounded.
RESIDUAL_FLOOR = 1e-3


@dataclass(frozen=True, kw_only=True)
class BWA(PartitionedAggregator):
    """BWA: Bayesian weighted average. Labels are noisy observations of a real vector; precise workers weigh more.

        z_i ~ N(mu, I / strength),   onehot(y_iw) ~ N(z_i, I / v_w),   v_w ~ Gamma(prior_labels / 2)

    Li, Rubinstein & Cohn (2019), Truth inference at scale: a Bayesian model for adjudicating highly redundant crowd
    annotations, WWW, doi:10.1145/3308558.3313459. Coordinate ascent from the vote shares; all three steps maximise
    one objective, so it never falls. One number per worker and no class confusion: stable where confusion matrices
    drift. Fails with class-biased workers, and its probabilities are shares of weight, not calibrated.

    `strength` (> 0) shrinks the tasks to their common mean; `prior_labels` (> 0) is the weight, in labels, of the
    crowd's residual in each worker's precision. Ends when no z moves by more than `tol`.

    Args:
        strength: Precision of the tasks' vectors around their common mean; larger values pull them toward it.
        prior_labels: Weight, in labels, of the crowd's residual in each worker's precision; larger values make the
            workers' weights more equal.
        max_iter: Maximum number of updates of precisions, tasks and mean.
        tol: Largest change of any entry of z at which the fit has converged.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> BWA().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "bwa"
    strength: Positive = 1.0
    prior_labels: Positive = 15.0
    max_iter: Count = 500
    tol: NonNegative = 1e-4

    def learn(self, data: PartitionedVotes, options: SolveOptions) -> FitState:
        """Update precisions, tasks and mean in turn."""
        state: BWAState | None = None
        sums = data.sum(partial(_pass, None, None), _add)
        mu = sums.z / data.n_tasks
        n, residual = sums.n, sums.residual
        crowd = residual.sum() / n.sum() if n.sum() > 0 else 0.0
        b = self.prior_labels * max(float(crowd), RESIDUAL_FLOOR)
        trace: list[float] = []
        converged = False
        while len(trace) < self.max_iter and not converged:
            v = (self.prior_labels + n) / (b + residual)
            before, state = state, BWAState(v, self.strength * mu)
            sums = data.sum(partial(_pass, before, state), _add)
            converged = sums.moved <= self.tol
            mu, residual = sums.z / data.n_tasks, sums.residual
            # As in the authors' code, n is counted where a density would count K · n. This tempers the normaliser
            # only: all three steps still maximise this one objective.
            fit = ((self.prior_labels + n) * np.log(v) - v * (b + residual)).sum()
            deviation = sums.squares - data.n_tasks * float((mu**2).sum())  # the sum of |z - mu|²
            trace.append(float(fit - self.strength * deviation) / 2)
            if options.callback is not None:
                options.callback(len(trace), trace[-1])
        # One last vote under v and mu, so that the posterior is that of the parameters `infer` uses.
        return FitState(
            predictor=WeightedVote(v, None, self.strength * mu),
            class_prior=mu,
            trace=np.array(trace),
            n_iter=len(trace),
            converged=converged,
            extra={"vote_weight": v, "vote_scale": None, "vote_prior": self.strength * mu},
        )


@dataclass(frozen=True, eq=False)
class BWAState:
    """Precisions of the workers and the pull of the common mean, which determine every z."""

    v: F8
    pull: F8


@dataclass(frozen=True)
class BWASums:
    """Number of labels and summed squared distances to z of each worker, the sums of z and of |z|², and the largest
    move of any z."""

    n: F8
    residual: F8
    z: F8
    squares: float
    moved: float


def _add(a: BWASums, b: BWASums) -> BWASums:
    moved = max(a.moved, b.moved)
    return BWASums(a.n + b.n, a.residual + b.residual, a.z + b.z, a.squares + b.squares, moved)


def _pass(before: BWAState | None, state: BWAState | None, space: Workspace) -> BWASums:
    """Sums over the new z of a part's tasks; the old z are computed again where they are not cached."""
    z = _z(space, state)
    moved = np.inf
    if state is not None:
        old = None if before is None else space.memory.recall(before)
        old = _z(space, before) if old is None else old
        moved = float(np.abs(z - old).max(initial=0.0))
        space.memory.keep(state, z)
    n, residual = residuals(space.shard, z)
    return BWASums(n, residual, z.sum(axis=0), float((z**2).sum()), moved)


def _z(space: Workspace, state: BWAState | None) -> F8:
    """z[task, class]: mu sums to one, so the means are shares; without a state, those of the votes."""
    score = space.shard.count_votes() if state is None else state.pull + scores(space.shard, state.v)
    return clamped(space, shares(score))


def residuals(votes: LabelRows, z: F8) -> tuple[F8, F8]:
    """Return the number of labels (with weights: their sum) of each worker, and their summed squared distance to z."""
    # |onehot(l) - z|² = 1 - 2 z_l + |z|²
    return sums_by_worker(votes, 1 - 2 * z[votes.task, votes.label] + (z**2).sum(axis=1)[votes.task])


@dataclass(frozen=True, kw_only=True)
class GoldMajorityVote(PartitionedVoteAggregator):
    """Gold majority vote: votes weighted by accuracy on the gold tasks.

        weight[w] = (right on gold + s · crowd mean) / (labels on gold + s)

    A worker without labels on gold tasks gets the crowd's mean.
    Fails where gold is scarce or easier than the other tasks; then prefer a method that learns from all tasks.

    `smoothing` is the weight, in labels, of the crowd's mean accuracy on gold.

    Args:
        smoothing: Weight, in labels, of the crowd's mean accuracy on gold; larger values make the weights more equal.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "y", "x", "y"])
    >>> GoldMajorityVote().fit(votes, gold={1: "y"}).to_table()["label"].to_list()
    ['y', 'y']
    """

    name: ClassVar[str] = "gold_majority_vote"
    smoothing: Positive = 1.0

    def weigh(self, data: PartitionedVotes) -> Weights:
        """Return the smoothed accuracy on gold."""
        n_rows, n, hits = data.sum(_on_gold, _add_gold_sums)
        if not n_rows:
            raise DataError("no worker labelled a gold task, so no worker's accuracy is known; use another method")
        crowd = max(float(hits.sum()) / max(float(n.sum()), 1e-12), 1e-6)
        return Weights((hits + self.smoothing * crowd) / (n + self.smoothing))


def _on_gold(space: Workspace) -> tuple[int, F8, F8]:
    """Return the number of labels on gold, and by weight the number and the number of right ones of each worker."""
    votes = space.shard
    gold = np.full(votes.n_tasks, votes.n_classes) if space.gold is None else space.gold
    rows = np.flatnonzero(gold[votes.task] < votes.n_classes)
    right = gold[votes.task[rows]] == votes.label[rows]
    w = np.ones(len(rows)) if votes.weight is None else votes.weight[rows]
    n, hits = (np.bincount(votes.worker[rows], weights=x, minlength=votes.n_workers) for x in (w, w * right))
    return len(rows), n.astype(np.float64), hits.astype(np.float64)


def _add_gold_sums(a: tuple[int, F8, F8], b: tuple[int, F8, F8]) -> tuple[int, F8, F8]:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@dataclass(frozen=True, kw_only=True)
class IWMV(PartitionedVoteAggregator):
    """IWMV: iterative weighted majority vote.

        weight[w] = K · accuracy[w] - 1,  accuracy against the current labels; repeat until the labels stay

    Li & Yu (2014), arXiv:1411.4086. The weight is the log-odds weight to first order around chance, so that
    softmax(K / (K - 1) · score) is the matching posterior. The votes of a worker worse than chance count against
    their label. Fails where more than half of the weight makes the same errors.

    Runs at most `max_iter` rounds of voting and weighing.

    Args:
        max_iter: Maximum number of rounds of voting and weighing; 1 weighs by agreement with the plain majority.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> IWMV().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "iwmv"
    max_iter: Count = 100

    def weigh(self, data: PartitionedVotes) -> Weights:
        """Return K · accuracy - 1."""
        k = data.n_classes
        return refine(data, lambda accuracy, n: k * accuracy - 1.0, k / max(k - 1, 1), self.max_iter)  # noqa: ARG005


@dataclass(frozen=True, kw_only=True)
class LogOddsVote(PartitionedVoteAggregator):
    """Log-odds vote: the optimal weights for workers with one accuracy each and uniform errors.

        weight[w] = log( p (K - 1) / (1 - p) ),   posterior = softmax(score)

    p is the accuracy against the current labels, clipped to [1/(n+2), 1 - 1/(n+2)] for n labels, so that a few
    labels never make a worker infallible. Weights and labels are iterated until the labels stay. Nitzan & Paroush
    (1982), International Economic Review 23(2), doi:10.2307/2526438. Fails, like every one-coin model, with
    class-biased workers.

    Runs at most `max_iter` rounds of voting and weighing.

    Args:
        max_iter: Maximum number of rounds of voting and weighing; 1 weighs by agreement with the plain majority.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> LogOddsVote().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "log_odds_vote"
    max_iter: Count = 100

    def weigh(self, data: PartitionedVotes) -> Weights:
        """Return the log odds of a right label, over chance."""
        k = data.n_classes
        if k == 1:
            return Weights(np.ones(data.n_workers), scale=1.0)

        def log_odds(accuracy: F8, n: F8) -> F8:
            p = np.clip(accuracy, 1 / (n + 2), 1 - 1 / (n + 2))
            return np.asarray(np.log(p * (k - 1) / (1 - p)))

        return refine(data, log_odds, 1.0, self.max_iter)


@dataclass(frozen=True, kw_only=True)
class MajorityVote(PartitionedVoteAggregator):
    """Majority vote: every vote counts the same.

        posterior[i, k] = share of the votes on task i for class k

    Fails where most workers err in the same way, and cannot tell a careful worker from a careless one.

    The posterior holds the vote shares. Ties are broken at random by `seed`; a task without votes is a tie of all
    classes.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> MajorityVote().fit(votes).posterior.round(3)
    array([[0.667, 0.333]])
    """

    name: ClassVar[str] = "majority_vote"

    def weigh(self, data: PartitionedVotes) -> Weights:
        """Return one for every worker."""
        return Weights(np.ones(data.n_workers))


@dataclass(frozen=True, kw_only=True)
class Subjective(Aggregator):
    """Subjective: no single truth is assumed; each task gets the distribution of its raters' labels.

        π_n = (counts_n + a · pooled) / (n + a),   a in {.5, 1, 2, 4, 8}: the one that predicts held-out raters best

    For tasks on which people legitimately differ (offence, taste, quality). The confidence is a share of raters, not
    the probability of being right; commands that guarantee right labels refuse such a result.

    `strength` is the weight of the crowd's own distribution, in raters (None: chosen on held-out raters).

    Args:
        strength: Weight of the crowd's own distribution, in raters; larger values shrink each task more toward it. None
            chooses the one of 0.5, 1, 2, 4 and 8 that predicts held-out raters best.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xyxx"])
    >>> Subjective(strength=1.0).fit(votes).posterior.round(2)
    array([[0.58, 0.42],
           [0.92, 0.08]])
    """

    name: ClassVar[str] = "subjective"
    strength: Positive | None = None

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:  # noqa: ARG002
        """Choose the strength, then compute the distributions."""
        votes = annotations.votes
        losses: dict[str, float] = {}
        strength = self.strength
        if strength is None:
            strength, losses = choose_strength(rater_rows(annotations))
        posterior, pooled = soft_labels(votes, strength)
        posterior = posterior if gold is None else gold.clamp(posterior)
        extra = {"subjective": True, "strength": float(strength), "held_out_log_loss": losses}
        return Solution(posterior, pooled, extra=extra)


def rater_rows(annotations: Annotations) -> RaterRows:
    """Return the annotations as rows of rater labels."""
    weight = row_weights(annotations)
    task, rater, label = (x.astype(np.int64) for x in (annotations.task, annotations.worker, annotations.label))
    return RaterRows(task, rater, label, weight, annotations.votes)


@dataclass(frozen=True, kw_only=True)
class Wawa(PartitionedVoteAggregator):
    """Wawa: worker agreement with aggregate. One majority vote, then one vote weighted by agreement with it.

        weight[w] = share of w's labels that equal the majority label of their task

    Reference: Appen's worker agreement with aggregate; crowd-kit's Wawa. Fails where the majority itself is wrong: it
    then rewards the workers who share its errors.

    With `ties="split"`, the default, a tie is split equally between its winners, so that neither chance nor the order
    of the classes enters the weights; `ties="first"` gives it to the first class, as crowd-kit does.

    Args:
        ties: How a tied majority counts when agreement is measured: "split" shares it equally between the tied classes,
            "first" gives it to the first of them.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> Wawa().fit(votes).posterior
    array([[1., 0.]])
    """

    name: ClassVar[str] = "wawa"
    ties: Ties = "split"

    def weigh(self, data: PartitionedVotes) -> Weights:
        """Return the agreement with the majority, or with gold where it is known."""
        return Weights(consensus_agreement(data, None, self.ties).share())


@dataclass(frozen=True, kw_only=True)
class ZeroBasedSkill(PartitionedVoteAggregator):
    """Zero-based skill: all workers start barely above chance; votes and weights are updated in shrinking steps.

        weight[w] += lr · (agreement[w] - weight[w]),   lr halves every 20 rounds

    Reference: Toloka's zero-based skill; crowd-kit's ZeroBasedSkill (same start, same schedule).
    Fails like Wawa where the majority is wrong.

    `lr` in (0, 1] is the size of the first step; the loop ends early once no weight moves by more than `tol`.
    `ties`: see Wawa.

    Args:
        max_iter: Maximum number of rounds of voting and weighing.
        tol: Largest change of any weight at which the rounds end.
        lr: Size of the first steps, as a share of the distance to the agreement; 1 moves the whole way, less is slower.
        ties: How a tied majority counts when agreement is measured: "split" shares it equally between the tied classes,
            "first" gives it to the first of them.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> ZeroBasedSkill().fit(votes).posterior
    array([[1., 0.]])
    """

    name: ClassVar[str] = "zero_based_skill"
    max_iter: Count = 100
    tol: NonNegative = 1e-5
    lr: PositiveShare = 1.0
    ties: Ties = "split"

    def weigh(self, data: PartitionedVotes) -> Weights:
        """Move the weights step by step towards the agreement with the weighted consensus."""
        checkpoint = journal.loop_checkpoint()
        saved = checkpoint.read()
        weight, iteration, converged = np.full(data.n_workers, 1 / data.n_classes + 1e-5), 0, False
        if saved is not None:
            weight, iteration, converged = saved["weight"], int(saved["passes"]), bool(saved["converged"])
        while iteration < self.max_iter and not converged:
            iteration += 1
            target = consensus_agreement(data, weight, self.ties).share()
            step = self.lr * 0.5 ** (iteration // 20) * (target - weight)
            weight = weight + step
            converged = bool(np.abs(step).max(initial=0.0) <= self.tol)
            checkpoint.write(iteration, converged, weight=weight, converged=converged)
        return Weights(weight, n_iter=iteration, converged=converged)
