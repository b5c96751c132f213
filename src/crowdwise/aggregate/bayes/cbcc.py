"""CBCC: workers belong to communities, and a worker with few labels borrows their community's matrix.

    c_w ~ Cat(pi),   A[w, k] | c_w = c ~ Dir(strength · M[c, k]),   y_iw | z_i = k ~ Cat(A[w, k])

Venanzi et al. (2014), Community-based Bayesian aggregation models for crowdsourcing, WWW, doi:10.1145/2566486.2567989,
with Dirichlet instead of softmax-normal matrices. q(c_w, A_w) = q(c_w) q(A_w | c_w) stays joint, so memberships weigh
Dirichlet-multinomial evidence; the communities' means M are maximised (Minka 2000, mean at fixed strength).
Fails where workers do not come in kinds (`hierarchical` learns how alike they are), and with copying workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from ...core.params import Count, NonNegative, Positive
from ...engine.em import Passes, run
from ...maths.coins import coins
from ...maths.dirichlet import divergence, log_mean, log_rows
from ...maths.kernels import Stats
from ...maths.logspace import normalise_rows
from ..base import Learnt, Run, Spread, SpreadAggregator
from ..confusion.base import Matrices
from ..learnt import Under
from .base import LEAST_PRIOR, BayesModel, PriorCount, bayes_learnt, diagonal_prior

F8 = npt.NDArray[np.float64]

# EM passes under fixed communities; Minka steps for their means between two such rounds.
PASSES = 3
MINKA = 3


@dataclass(frozen=True, kw_only=True)
class CBCC(SpreadAggregator):
    """`n_communities` (4) kinds of workers; `strength` (20, above 0) is how many labels a community's word weighs.

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
