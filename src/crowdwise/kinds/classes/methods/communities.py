"""Bayesian methods with communities of workers (CBCC) and with subtypes of classes (EBCC)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.special import digamma

from ....core.arrays import F8
from ....core.errors import DataError
from ....core.params import Count, NonNegative, Positive
from ....core.result import Result
from ....em.kernels import Stats, Workspace, transposed
from ....em.loop import Fit
from ....em.passes import Passes, best_of, run
from ....stats.coins import coins
from ....stats.dirichlet import divergence, log_mean, log_rows
from ....stats.logspace import normalise_rows
from ..annotations import Annotations
from ..maths.subtypes import subtype_pass, subtype_posterior, subtype_stats
from .base import PartitionedAggregator, SolveOptions
from .bayes import (
    LEAST_PRIOR,
    BayesAggregator,
    BayesModel,
    BayesPredictor,
    PriorCount,
    bayes_fit_state,
    diagonal_prior,
    prior_where_empty,
)
from .confusion.base import Matrices, by_votes, drawn
from .infer import ClassModel
from .partitioned import FitState, ModelPredictor, PartitionedVotes, PartPosterior, Predictor
from .requirements import MAX_CELLS

# EM passes per round under fixed communities, and Minka steps for their means between rounds.
PASSES = 3
MINKA = 3


@dataclass(frozen=True, kw_only=True)
class CBCC(PartitionedAggregator):
    """CBCC: workers belong to communities, and workers with few labels use the confusion matrix of theirs.

        c_w ~ Cat(pi),   A[w, k] | c_w = c ~ Dir(strength · M[c, k]),   y_iw | z_i = k ~ Cat(A[w, k])

    Venanzi et al. (2014), Community-based Bayesian aggregation models for crowdsourcing, WWW,
    doi:10.1145/2566486.2567989, with Dirichlet instead of softmax-normal matrices. q(c_w, A_w) = q(c_w) q(A_w | c_w)
    stays joint, so memberships are based on Dirichlet-multinomial evidence; the communities' means M are maximised
    (Minka 2000, mean at fixed strength). Fails where workers do not form communities (`hierarchical` learns how
    similar they are), and with copying workers.

    `n_communities` (4) is the number of communities; `strength` (20, above 0) is the weight of a community's matrix,
    in labels. `prior_diagonal` (4) and `prior_off` (1), above 0, are pseudo-counts of every community's mean,
    `prior_community` (1) of its size, `prior_class` (1) of each class. `n_init` (3) starts: one by skill, the others
    at random.

    Args:
        n_communities: Number of communities; with 1 all workers have the same prior.
        strength: Weight of a community's matrix in each worker's, in labels per class; larger values make members more
            alike.
        prior_diagonal: Pseudo-count of the right label in every row of a community's matrix; larger values assume more
            accurate communities.
        prior_off: Pseudo-count of each wrong label in every row; larger values assume less accurate communities.
        prior_community: Pseudo-count of workers in each community; larger values make the sizes more equal.
        prior_class: Pseudo-count of each class; larger values make the class frequencies more equal.
        n_init: Number of starts; 1 is communities that differ in skill, more add random memberships. The highest ELBO
            decides.
        max_iter: Maximum number of EM passes over the labels, from each start.
        tol: Gain of the ELBO in a round, relative to its size, at which a run stops.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> CBCC(n_communities=2).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "cbcc"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("community",)
    n_communities: Count = 4
    strength: Positive = 20.0
    prior_diagonal: Positive = 4.0
    prior_off: Positive = 1.0
    prior_community: PriorCount = 1.0
    prior_class: PriorCount = 1.0
    n_init: Count = 3
    max_iter: Count = 500
    tol: NonNegative = 1e-7

    def learn(self, votes: PartitionedVotes, options: SolveOptions) -> FitState:
        """Alternate EM and community updates from every start; the highest ELBO wins."""
        k, m = votes.n_classes, votes.n_workers
        history = np.zeros((1, k, k)) if options.prior is None else options.prior
        start = Communities.by_skill(self, k, m, history)
        data: Matrices = Passes(start.model(), votes)
        stats = data.start()
        starts = [start.learn(stats)]
        for stream in np.random.SeedSequence(self.seed).spawn(self.n_init - 1):
            member = np.random.default_rng(stream).dirichlet(np.ones(self.n_communities), m)
            starts.append(start.joined(member, stats))
        states = [self._rounds(data, stats, communities, options) for communities in starts]
        return max(states, key=lambda state: float(state.trace[-1]))

    def _rounds(self, data: Matrices, stats: Stats, communities: Communities, options: SolveOptions) -> FitState:
        traces: list[F8] = []
        passes, converged = 0, False
        while passes < self.max_iter and not converged:
            communities = communities.learn(stats) if traces else communities
            model = communities.model()
            fit = run(data.under(model), stats, max_iter=min(PASSES, self.max_iter - passes), tol=0.0)
            gain = fit.objective - float(traces[-1][-1]) if traces else np.inf
            converged = gain <= self.tol * max(1.0, abs(fit.objective))
            stats, passes = fit.stats, passes + fit.n_iter
            traces.append(fit.trace)
            if options.callback is not None:
                options.callback(passes, fit.objective)
        state = bayes_fit_state(fit, ModelPredictor(model, fit.params))
        return replace(
            state,
            trace=np.concatenate(traces),
            n_iter=passes,
            converged=converged,
            extra={**state.extra, "community": communities.member, "community_confusion": communities.confusion},
        )


@dataclass(frozen=True)
class Communities:
    """mean[community, observed, true], member[worker, community] (probabilities) and size[community] (beliefs)."""

    method: CBCC
    mean: F8
    member: F8
    size: F8
    history: F8  # counts of earlier projects, [worker (or 1), observed, true]

    @classmethod
    def by_skill(cls, method: CBCC, k: int, m: int, history: F8) -> Communities:
        """Start with communities that differ in accuracy, from guessing to .95, and are symmetric in the classes."""
        c = method.n_communities
        right = np.linspace(1 / k, 0.95, c) if c > 1 else np.array([0.8])
        mean = _keep_off_zero(coins(right, k), method.strength)
        return cls(method, mean, np.full((m, c), 1 / c), np.ones(c), history)

    @property
    def confusion(self) -> F8:
        """Means of the communities, [community, true, observed]."""
        return transposed(self.mean)

    def model(self) -> CommunityModel:
        """Return the model under these communities."""
        return CommunityModel(self)

    def learn(self, stats: Stats) -> Communities:
        """Update memberships, sizes and means given expected counts; each update raises the ELBO."""
        member = normalise_rows(log_mean(self.size, axis=0) + self.evidence(stats.counts))[0]
        return self.joined(member, stats)

    def joined(self, member: F8, stats: Stats) -> Communities:
        """Update sizes and means for given memberships."""
        k, s = stats.counts.shape[1], self.method.strength
        pseudo = diagonal_prior(k, self.method.prior_diagonal, self.method.prior_off)
        mean, counts = self.mean, stats.counts + self.history
        for _ in range(MINKA):
            pull = np.stack(
                [
                    s * a * np.tensordot(r, digamma(s * a + counts) - digamma(s * a), axes=1)
                    for a, r in zip(mean, member.T, strict=True)
                ]
            )
            mean = _keep_off_zero(pull + pseudo, s)
        return replace(self, mean=mean, member=member, size=self.method.prior_community + member.sum(axis=0))

    def evidence(self, counts: F8) -> F8:
        """Return log DirMult(counts of a worker; strength · mean of a community), [worker, community]."""
        s, counts = self.method.strength, counts + self.history
        return np.stack([log_rows(counts, s * a, axis=1).sum(axis=1) for a in self.mean], axis=1)


class CommunityModel(BayesModel):
    """Beliefs about a worker are a mixture over communities of prior plus counts."""

    def __init__(self, communities: Communities) -> None:
        k, method = communities.mean.shape[1], communities.method
        super().__init__(diagonal_prior(k, method.prior_diagonal, method.prior_off), method.prior_class)
        self.communities = communities

    def rows(self, counts: F8) -> tuple[F8, F8, float]:
        """Return the exp of the expected log matrix, the mean matrix, and minus the ELBO terms apart from classes."""
        communities = self.communities
        s, member, size = communities.method.strength, communities.member, communities.size
        total = counts + communities.history
        log_theta = np.zeros_like(counts) - digamma(s + total.sum(axis=1, keepdims=True))
        for a, r in zip(communities.mean, member.T, strict=True):
            log_theta += r[:, None, None] * digamma(s * a + total)
        mean = s * np.tensordot(member, communities.mean, axes=1) + total
        mean /= mean.sum(axis=1, keepdims=True)
        size_prior = np.full_like(size, communities.method.prior_community)
        kl = float((counts * log_theta).sum()) - float((member * communities.evidence(counts)).sum())
        safe = np.log(np.maximum(member, 1e-300))
        kl += float((member * (safe - log_mean(size, axis=0))).sum()) + divergence(size, size_prior, axis=0)
        # Relative to the prior's mode, so that a very strong prior does not swamp the other terms in rounding.
        kl -= float((self.prior * np.log(communities.mean / (self.prior / self.prior.sum(axis=0)))).sum())
        return np.exp(log_theta), mean, kl


def _keep_off_zero(pull: F8, strength: float) -> F8:
    """Return the mean that maximises Σ pull · log mean over observed labels, no entry below LEAST_PRIOR / strength."""
    least = min(LEAST_PRIOR / strength, 1 / pull.shape[1])
    low = np.zeros(pull.shape, dtype=bool)
    for _ in range(pull.shape[1]):
        high = np.where(low, 0.0, pull)
        free = 1 - least * low.sum(axis=1, keepdims=True)
        mean = np.where(low, least, high * free / np.maximum(high.sum(axis=1, keepdims=True), 1e-300))
        if not (mean < least).any():
            break
        low |= mean < least
    return np.asarray(mean / mean.sum(axis=1, keepdims=True))


# Labels × states × starts: beyond this a fit takes many minutes (about half a microsecond each per iteration).
MAX_WORK = 60_000_000


@dataclass(frozen=True)
class SubtypeBeliefs:
    """log_theta[worker, observed, state] and log_weight[state] of the E-step, the means, and the divergence."""

    log_theta: F8
    log_weight: F8
    confusion_mean: F8  # worker, observed, true
    class_mean: F8
    divergence: float


@dataclass(frozen=True, kw_only=True)
class EBCC(BayesAggregator):
    """EBCC: enhanced Bayesian classifier combination. Classes have subtypes, so that workers may err together on one.

        (z_i, g_i) ~ Cat(d[k] · pi[k, g]),   y_iw | z_i = k, g_i = g ~ Cat(v[w, k, g]),
        pi[k] ~ Dir(prior_group / n_groups),   v[w, k, g] ~ Dir(prior_off + (prior_diagonal - prior_off) e_k)

    Li, Rubinstein & Cohn (2019), Exploiting worker correlation for label aggregation in crowdsourcing, ICML,
    proceedings.mlr.press/v97/li19i.html; variational Bayes from seeded starts, the highest ELBO wins. Fails as
    `ibcc` does where its prior is wrong for many workers (web), and where subtypes have too few tasks to be found.
    With one group it is `ibcc`.

    `n_groups` (10) is the number of subtypes per class; `prior_group` (0.1, above 0) is small so that unnecessary
    subtypes become empty; `n_init` (3) is the number of seeded starts; the other parameters are as in `ibcc`. Memory
    grows with (tasks + workers × classes) × classes × n_groups, time with labels × classes × n_groups × n_init; a fit
    beyond 60 million of the latter is refused.

    Args:
        n_groups: Number of subtypes per class; 1 is `ibcc`. More take longer and describe more kinds of errors.
        prior_group: Pseudo-count that the subtypes of a class share; small values leave unnecessary subtypes empty,
            large ones spread the tasks over all of them.
        n_init: Number of starts, all with random subtypes; the one with the highest ELBO is used.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> EBCC(n_groups=2).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "ebcc"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("log_theta",)
    n_groups: Count = 10
    prior_group: Positive = 0.1
    n_init: Count = 3

    def learn(self, votes: PartitionedVotes, options: SolveOptions) -> FitState:
        """Return the fit with the highest ELBO over the starts."""
        k = votes.n_classes
        cells = (votes.n_tasks + votes.n_workers * k) * k * self.n_groups
        if cells > MAX_CELLS:
            raise DataError(f"ebcc needs {cells:,} cells, over the limit of {MAX_CELLS:,}; lower n_groups or take ibcc")
        work = len(votes) * k * self.n_groups * self.n_init
        if work > MAX_WORK:
            raise DataError(
                f"ebcc would go through {work:,} labels × states × starts in every step, over the limit of "
                f"{MAX_WORK:,}; lower n_groups and n_init, or take ibcc or cbcc"
            )
        model = SubtypeModel(self, k, options.prior)
        data: Passes[Workspace, SubtypeBeliefs, Stats] = Passes(model, votes)
        fits = [
            run(
                data,
                data.start(partial(model.start, stream=stream)),
                max_iter=self.max_iter,
                tol=self.tol,
                accelerate=self.accelerate,
                callback=options.callback,
            )
            for stream in np.random.SeedSequence(self.seed).spawn(self.n_init)
        ]
        fit = best_of(fits)
        return _fit_state(fit, ModelPredictor(model, fit.params), k)

    @staticmethod
    def fitted(result: Result) -> SubtypeTable | None:
        """Return the model of the beliefs over subtypes."""
        if "log_theta" not in result.extra:
            return None
        return SubtypeTable(result, result.extra["log_theta"], result.extra["log_weight"])


class SubtypeModel:
    """Beliefs over matrices of every subtype, over subtypes within classes, and over classes."""

    def __init__(self, method: EBCC, n_classes: int, history: F8 | None) -> None:
        prior = diagonal_prior(n_classes, method.prior_diagonal, method.prior_off)
        # Counts of earlier projects apply to every subtype.
        prior = prior if history is None else prior + history
        self.prior = np.repeat(prior, method.n_groups, axis=-1)  # (worker,) observed, state
        self.group_prior = np.full((n_classes, method.n_groups), method.prior_group / method.n_groups)
        self.class_prior = np.full(n_classes, method.prior_class)

    def start(self, shard: Workspace, stream: np.random.SeedSequence | None = None) -> Stats:
        """Start from vote shares times random group shares drawn per task, so that renaming classes has no effect."""
        shares = by_votes(shard)
        groups = drawn(np.random.SeedSequence(0) if stream is None else stream, shard, self.group_prior.shape[1])
        states = shares.shape[1] * groups.shape[1]
        return subtype_stats(shard, (shares[:, :, None] * groups[:, None, :]).reshape(len(shares), states))

    def accumulate(self, params: SubtypeBeliefs, shard: Workspace) -> tuple[Stats, float]:
        """Run the E-step fused with its statistics."""
        return subtype_pass(shard, params.log_theta, params.log_weight)

    def posterior(self, params: SubtypeBeliefs, shard: Workspace) -> F8:
        """Return posterior[task, state]."""
        return subtype_posterior(shard, params.log_theta, params.log_weight)

    def log_prior(self, params: SubtypeBeliefs) -> float:
        """Return minus the divergence; with the log-likelihood it is the ELBO."""
        return -params.divergence

    def maximise(self, stats: Stats) -> SubtypeBeliefs:
        """Return priors plus counts, for all three kinds of beliefs."""
        rows = stats.counts + self.prior
        groups = stats.mass.reshape(self.group_prior.shape) + self.group_prior  # true, group
        classes = stats.mass.reshape(self.group_prior.shape).sum(axis=1) + self.class_prior
        mean = rows / rows.sum(axis=1, keepdims=True)
        share = groups / groups.sum(axis=1, keepdims=True)
        kl = divergence(rows, np.broadcast_to(self.prior, rows.shape), axis=1)
        kl += divergence(groups, self.group_prior, axis=1) + divergence(classes, self.class_prior, axis=0)
        return SubtypeBeliefs(
            log_theta=log_mean(rows, axis=1),
            log_weight=(log_mean(groups, axis=1) + log_mean(classes, axis=0)[:, None]).ravel(),
            confusion_mean=(mean.reshape(*mean.shape[:2], *share.shape) * share).sum(axis=3),
            class_mean=classes / classes.sum(),
            divergence=kl,
        )


@dataclass(frozen=True, eq=False)
class ClassPredictor:
    """A predictor of states with the subtypes of each class summed."""

    predictor: Predictor

    def __call__(self, space: Workspace) -> PartPosterior:
        """Posterior of a part's tasks over classes."""
        return PartPosterior(_by_class(self.predictor(space).posterior, space.shard.n_classes))


def _fit_state(fit: Fit[SubtypeBeliefs, Stats], predictor: Predictor, k: int) -> FitState:
    """Return the state of a fit with subtypes summed; the tables of the E-step are kept for `Result.infer`."""
    beliefs = fit.params
    counts = fit.stats.counts.reshape(*fit.stats.counts.shape[:2], k, -1).sum(axis=3)
    return FitState(
        predictor=BayesPredictor(ClassPredictor(predictor), beliefs.class_mean),
        class_prior=beliefs.class_mean,
        confusion=transposed(beliefs.confusion_mean),
        counts=transposed(counts),
        trace=fit.trace,
        n_iter=fit.n_iter,
        converged=fit.converged,
        extra={
            "log_theta": np.ascontiguousarray(beliefs.log_theta),
            "log_weight": beliefs.log_weight,
            "groups": fit.stats.mass.reshape(k, -1),
        },
    )


def _by_class(states: F8, k: int) -> F8:
    """Return posterior[task, state] summed over subtypes."""
    return np.asarray(states.reshape(len(states), k, states.shape[1] // k).sum(axis=2))


@dataclass(frozen=True, eq=False)
class SubtypeTable(ClassModel):
    """log_theta[worker, observed, state] and log_weight[state]."""

    log_theta: F8
    log_weight: F8

    def posterior(self, votes: Annotations) -> F8:
        """Run the E-step over subtypes; a new worker gets the crowd's average beliefs."""
        log_theta = self.values_of(self.log_theta, votes.workers)
        states = subtype_posterior(Workspace.of(votes), log_theta, self.log_weight)
        return prior_where_empty(_by_class(states, votes.n_classes), votes, self.result.class_prior)
