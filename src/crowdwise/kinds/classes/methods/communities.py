""""""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from ....core.errors import DataError
from ....core.params import Count, NonNegative, Positive
from ....core.result import Result
from ....em.kernels import Stats, Workspace
from ....em.loop import Fit
from ....em.passes import Passes, best_of, run
from ....stats.coins import coins
from ....stats.dirichlet import divergence, log_mean, log_rows
from ....stats.logspace import normalise_rows
from ..annotations import Annotations
from ..maths.subtypes import subtype_pass, subtype_posterior, subtype_stats
from .base import Run, SpreadAggregator
from .bayes import (
    LEAST_PRIOR,
    BayesAggregator,
    BayesModel,
    Believed,
    PriorCount,
    bayes_learnt,
    diagonal_prior,
    prior_where_silent,
)
from .confusion.base import Matrices, by_votes, drawn
from .infer import ClassModel
from .needs import MAX_CELLS
from .spread import Judge, Judged, Learnt, Spread, Under

F8 = npt.NDArray[np.float64]

# EM passes under fixed communities; Minka steps for their means between two such rounds.
PASSES = 3
MINKA = 3


@dataclass(frozen=True, kw_only=True)
class CBCC(SpreadAggregator):
    """CBCC: workers belong to communities, and a worker with few labels borrows their community's matrix.

        c_w ~ Cat(pi),   A[w, k] | c_w = c ~ Dir(strength · M[c, k]),   y_iw | z_i = k ~ Cat(A[w, k])

    Venanzi et al. (2014), Community-based Bayesian aggregation models for crowdsourcing, WWW,
    doi:10.1145/2566486.2567989, with Dirichlet instead of softmax-normal matrices. q(c_w, A_w) = q(c_w) q(A_w | c_w)
    stays joint, so memberships weigh Dirichlet-multinomial evidence; the communities' means M are maximised (Minka
    2000, mean at fixed strength). Fails where workers do not come in kinds (`hierarchical` learns how alike they
    are), and with copying workers.

    `n_communities` (4) kinds of workers; `strength` (20, above 0) is how many labels a community's word weighs.

    `prior_diagonal` (4) and `prior_off` (1), above 0, are pseudo-counts of every community's mean, `prior_community`
    (1) of its size, `prior_class` (1) of each class. `n_init` (3): one start by skill, the others by chance.

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

    def learn(self, votes: Spread, run_: Run) -> Learnt:
        """Rounds of EM and of communities from every start; the highest ELBO wins."""
        k, m = votes.n_classes, votes.n_workers
        history = np.zeros((1, k, k)) if run_.prior is None else run_.prior
        start = Communities.by_skill(self, k, m, history)
        data: Matrices = Passes(start.model(), votes)
        stats = data.start()
        starts = [start.learn(stats)]
        for stream in np.random.SeedSequence(self.seed).spawn(self.n_init - 1):
            member = np.random.default_rng(stream).dirichlet(np.ones(self.n_communities), m)
            starts.append(start.joined(member, stats))
        found = [self._rounds(data, stats, communities, run_) for communities in starts]
        return max(found, key=lambda one: float(one.trace[-1]))

    def _rounds(self, data: Matrices, stats: Stats, communities: Communities, run_: Run) -> Learnt:
        traces: list[F8] = []
        passes, settled = 0, False
        while passes < self.max_iter and not settled:
            communities = communities.learn(stats) if traces else communities
            model = communities.model()
            fit = run(data.under(model), stats, max_iter=min(PASSES, self.max_iter - passes), tol=0.0)
            gain = fit.objective - float(traces[-1][-1]) if traces else np.inf
            settled = gain <= self.tol * max(1.0, abs(fit.objective))
            stats, passes = fit.stats, passes + fit.n_iter
            traces.append(fit.trace)
            if run_.callback is not None:
                run_.callback(passes, fit.objective)
        found = bayes_learnt(fit, Under(model, fit.params))
        return replace(
            found,
            trace=np.concatenate(traces),
            n_iter=passes,
            converged=settled,
            extra={**found.extra, "community": communities.member, "community_confusion": communities.confusion},
        )


@dataclass(frozen=True)
class Communities:
    """mean[community, observed, true], member[worker, community] (probabilities) and size[community] (beliefs)."""

    own: CBCC
    mean: F8
    member: F8
    size: F8
    history: F8  # what earlier projects counted: worker (or 1), observed, true

    @classmethod
    def by_skill(cls, own: CBCC, k: int, m: int, history: F8) -> Communities:
        """Communities that differ in accuracy, from guessing to .95: a start that treats all classes alike."""
        c = own.n_communities
        right = np.linspace(1 / k, 0.95, c) if c > 1 else np.array([0.8])
        return cls(own, _keep_off_zero(coins(right, k), own.strength), np.full((m, c), 1 / c), np.ones(c), history)

    @property
    def confusion(self) -> F8:
        """The means as [community, true, observed]."""
        return np.ascontiguousarray(self.mean.transpose(0, 2, 1))

    def model(self) -> CommunityModel:
        """The model under these communities."""
        return CommunityModel(self)

    def learn(self, stats: Stats) -> Communities:
        """Memberships, sizes and means, each the better for the ELBO given the workers' expected counts."""
        member = normalise_rows(log_mean(self.size, axis=0) + self.evidence(stats.counts))[0]
        return self.joined(member, stats)

    def joined(self, member: F8, stats: Stats) -> Communities:
        """Sizes and means for given memberships."""
        k, s = stats.counts.shape[1], self.own.strength
        pseudo = diagonal_prior(k, self.own.prior_diagonal, self.own.prior_off)
        mean, counts = self.mean, stats.counts + self.history
        for _ in range(MINKA):
            pull = np.stack(
                [
                    s * a * np.tensordot(r, digamma(s * a + counts) - digamma(s * a), axes=1)
                    for a, r in zip(mean, member.T, strict=True)
                ]
            )
            mean = _keep_off_zero(pull + pseudo, s)
        return replace(self, mean=mean, member=member, size=self.own.prior_community + member.sum(axis=0))

    def evidence(self, counts: F8) -> F8:
        """log DirMult(counts of a worker; strength · mean of a community), [worker, community]."""
        s, counts = self.own.strength, counts + self.history
        return np.stack([log_rows(counts, s * a, axis=1).sum(axis=1) for a in self.mean], axis=1)


class CommunityModel(BayesModel):
    """Every worker's beliefs are a mixture over communities of prior plus counts."""

    def __init__(self, of: Communities) -> None:
        k = of.mean.shape[1]
        super().__init__(diagonal_prior(k, of.own.prior_diagonal, of.own.prior_off), of.own.prior_class)
        self.of = of

    def rows(self, counts: F8) -> tuple[F8, F8, float]:
        """exp of the expected log matrix, the mean matrix, and all of the ELBO that does not concern classes."""
        of, s = self.of, self.of.own.strength
        known = counts + of.history
        log_theta = np.zeros_like(counts) - digamma(s + known.sum(axis=1, keepdims=True))
        for a, r in zip(of.mean, of.member.T, strict=True):
            log_theta += r[:, None, None] * digamma(s * a + known)
        mean = s * np.tensordot(of.member, of.mean, axes=1) + known
        mean /= mean.sum(axis=1, keepdims=True)
        size_prior = np.full_like(of.size, of.own.prior_community)
        apart = float((counts * log_theta).sum()) - float((of.member * of.evidence(counts)).sum())
        safe = np.log(np.maximum(of.member, 1e-300))
        apart += float((of.member * (safe - log_mean(of.size, axis=0))).sum()) + divergence(of.size, size_prior, axis=0)
        # Relative to the prior's mode, so that a very strong prior does not drown the rest in rounding.
        apart -= float((self.prior * np.log(of.mean / (self.prior / self.prior.sum(axis=0)))).sum())
        return np.exp(log_theta), mean, apart


def _keep_off_zero(pull: F8, strength: float) -> F8:
    """The mean that maximises Σ pull · log mean over the observed label, no entry below LEAST_PRIOR / strength."""
    least = min(LEAST_PRIOR / strength, 1 / pull.shape[1])
    low = np.zeros(pull.shape, dtype=bool)
    for _ in range(pull.shape[1]):
        rest = np.where(low, 0.0, pull)
        free = 1 - least * low.sum(axis=1, keepdims=True)
        mean = np.where(low, least, rest * free / np.maximum(rest.sum(axis=1, keepdims=True), 1e-300))
        if not (mean < least).any():
            break
        low |= mean < least
    return np.asarray(mean / mean.sum(axis=1, keepdims=True))


# Labels × states × starts: beyond this a fit takes many minutes (about half a microsecond each and iteration).
MAX_WORK = 60_000_000


@dataclass(frozen=True)
class SubtypeBeliefs:
    """log_theta[worker, observed, state] and log_weight[state] of the E-step, means, and the divergence."""

    log_theta: F8
    log_weight: F8
    confusion_mean: F8  # worker, observed, true
    class_mean: F8
    divergence: float


@dataclass(frozen=True, kw_only=True)
class EBCC(BayesAggregator):
    """EBCC: every class has subtypes, so that workers may err together on the hard kind of a class.

        (z_i, g_i) ~ Cat(d[k] · pi[k, g]),   y_iw | z_i = k, g_i = g ~ Cat(v[w, k, g]),
        pi[k] ~ Dir(prior_group / n_groups),   v[w, k, g] ~ Dir(prior_off + (prior_diagonal - prior_off) e_k)

    Li, Rubinstein & Cohn (2019), Exploiting worker correlation for label aggregation in crowdsourcing, ICML,
    proceedings.mlr.press/v97/li19i.html; variational Bayes from seeded starts, the highest ELBO wins. Fails as
    `ibcc` does where its prior is wrong for many (web), and where subtypes have too few tasks to be seen. With one
    group it is `ibcc`.

    Enhanced Bayesian classifier combination with `n_groups` (10) subtypes per class.

    `prior_group` (0.1, above 0) is small so that needless subtypes empty; `n_init` (3) seeded starts; the rest as in
    `ibcc`. Memory grows with (tasks + workers × classes) × classes × n_groups; time with labels × classes × n_groups ×
    n_init, and beyond 60 million of those it refuses.

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

    def learn(self, votes: Spread, run_: Run) -> Learnt:
        """The highest ELBO over the starts."""
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
        model = SubtypeModel(self, k, run_.prior)
        data: Passes[Workspace, SubtypeBeliefs, Stats] = Passes(model, votes)
        fits = [
            run(
                data,
                data.start(partial(model.start, stream=stream)),
                max_iter=self.max_iter,
                tol=self.tol,
                accelerate=self.accelerate,
                callback=run_.callback,
            )
            for stream in np.random.SeedSequence(self.seed).spawn(self.n_init)
        ]
        fit = best_of(fits)
        return _learnt(fit, Under(model, fit.params), k)

    @staticmethod
    def fitted(result: Result) -> SubtypeTable | None:
        """Beliefs over subtypes."""
        if "log_theta" not in result.extra:
            return None
        return SubtypeTable(result, result.extra["log_theta"], result.extra["log_weight"])


class SubtypeModel:
    """Beliefs over matrices of every subtype, over subtypes within classes, and over classes."""

    def __init__(self, own: EBCC, n_classes: int, history: F8 | None) -> None:
        prior = diagonal_prior(n_classes, own.prior_diagonal, own.prior_off)
        # What earlier projects know of a worker holds in every subtype.
        prior = prior if history is None else prior + history
        self.prior = np.repeat(prior, own.n_groups, axis=-1)  # (worker,) observed, state
        self.group_prior = np.full((n_classes, own.n_groups), own.prior_group / own.n_groups)
        self.class_prior = np.full(n_classes, own.prior_class)

    def start(self, shard: Workspace, stream: np.random.SeedSequence | None = None) -> Stats:
        """Vote shares times a random share of the groups, a task's own: classes may be renamed without effect."""
        shares = by_votes(shard)
        groups = drawn(np.random.SeedSequence(0) if stream is None else stream, shard, self.group_prior.shape[1])
        states = shares.shape[1] * groups.shape[1]
        return subtype_stats(shard, (shares[:, :, None] * groups[:, None, :]).reshape(len(shares), states))

    def accumulate(self, params: SubtypeBeliefs, shard: Workspace) -> tuple[Stats, float]:
        """E-step fused with its statistics."""
        return subtype_pass(shard, params.log_theta, params.log_weight)

    def posterior(self, params: SubtypeBeliefs, shard: Workspace) -> F8:
        """posterior[task, state]."""
        return subtype_posterior(shard, params.log_theta, params.log_weight)

    def log_prior(self, params: SubtypeBeliefs) -> float:
        """Minus the divergence: with the log-likelihood, the ELBO."""
        return -params.divergence

    def maximise(self, stats: Stats) -> SubtypeBeliefs:
        """Priors plus counts, for all three kinds of belief."""
        rows = stats.counts + self.prior
        groups = stats.mass.reshape(self.group_prior.shape) + self.group_prior  # true, group
        classes = stats.mass.reshape(self.group_prior.shape).sum(axis=1) + self.class_prior
        mean = rows / rows.sum(axis=1, keepdims=True)
        share = groups / groups.sum(axis=1, keepdims=True)
        apart = divergence(rows, np.broadcast_to(self.prior, rows.shape), axis=1)
        apart += divergence(groups, self.group_prior, axis=1) + divergence(classes, self.class_prior, axis=0)
        return SubtypeBeliefs(
            log_theta=log_mean(rows, axis=1),
            log_weight=(log_mean(groups, axis=1) + log_mean(classes, axis=0)[:, None]).ravel(),
            confusion_mean=(mean.reshape(*mean.shape[:2], *share.shape) * share).sum(axis=3),
            class_mean=classes / classes.sum(),
            divergence=apart,
        )


@dataclass(frozen=True, eq=False)
class ByClass:
    """A judge of states, whose subtypes are summed up."""

    judge: Judge

    def __call__(self, space: Workspace) -> Judged:
        """What is said of a part's classes."""
        return Judged(_by_class(self.judge(space).posterior, space.shard.n_classes))


def _learnt(fit: Fit[SubtypeBeliefs, Stats], judge: Judge, k: int) -> Learnt:
    """Subtypes summed up; the E-step's own tables are kept for `Result.infer`."""
    beliefs = fit.params
    counts = fit.stats.counts.reshape(*fit.stats.counts.shape[:2], k, -1).sum(axis=3)
    return Learnt(
        judge=Believed(ByClass(judge), beliefs.class_mean),
        class_prior=beliefs.class_mean,
        confusion=np.ascontiguousarray(beliefs.confusion_mean.transpose(0, 2, 1)),
        counts=np.ascontiguousarray(counts.transpose(0, 2, 1)),
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
    """posterior[task, state] summed over subtypes."""
    return np.asarray(states.reshape(len(states), k, states.shape[1] // k).sum(axis=2))


@dataclass(frozen=True, eq=False)
class SubtypeTable(ClassModel):
    """log_theta[worker, observed, state] and log_weight[state]."""

    log_theta: F8
    log_weight: F8

    def posterior(self, votes: Annotations) -> F8:
        """The E-step over subtypes; a new worker has the crowd's average of beliefs."""
        log_theta = self.spread(self.log_theta, votes.workers)
        states = subtype_posterior(Workspace.of(votes), log_theta, self.log_weight)
        return prior_where_silent(_by_class(states, votes.n_classes), votes, self.result.class_prior)
