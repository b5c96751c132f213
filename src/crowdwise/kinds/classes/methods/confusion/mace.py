"""MACE: workers who know or spam, fitted by EM or variational Bayes over the shared kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.special import digamma

from .....core.arrays import F8
from .....core.params import Count, NonNegative, Positive
from .....em.kernels import Stats, Workspace, accumulate, e_step, stats_of, transposed
from .....em.loop import Fit
from .....em.passes import Passes, run
from .....stats.dirichlet import divergence
from ..base import PartitionedAggregator, SolveOptions
from ..partitioned import FitState, ModelPredictor, PartitionedVotes, VotesShape
from .base import Start, WeightedVoteStart, by_votes, counted


@dataclass(frozen=True)
class MACEParams:
    """know[worker], spam[worker] and habit[worker, label]: probabilities, or exp E log of them."""

    know: F8
    spam: F8
    habit: F8
    counts: F8  # counts of the M-step, [worker, label, (known, spammed)]

    def table(self) -> F8:
        """Return theta[worker, observed, true]."""
        k = self.habit.shape[1]
        g = np.repeat((self.spam[:, None] * self.habit)[:, :, None], k, axis=2)
        g[:, np.arange(k), np.arange(k)] += self.know[:, None]
        return g


class MACEModel:
    """Maximum a posteriori: the same pseudo-counts on knowing and spamming, and pseudo-counts on every habit.

    Statistics are counts[worker, label, (known, spammed)].
    """

    def __init__(self, prior_know: float, prior_habit: float) -> None:
        self.a, self.b = prior_know, prior_habit

    def start(self, shard: Workspace, at: Start = by_votes) -> Stats:
        """Return known and spammed labels of a first posterior, under equal workers."""
        m, k = shard.shard.n_workers, shard.shard.n_classes
        even = MACEParams(np.full(m, 0.5), np.full(m, 0.5), np.full((m, k), 1 / k), np.empty(0))
        return split(stats_of(shard, at(shard)), even)

    def accumulate(self, params: MACEParams, shard: Workspace) -> tuple[Stats, float]:
        """Run the shared kernel under theta I + (1 - theta) xi, then split the counts into known and spammed."""
        k = shard.shard.n_classes
        stats, log_likelihood = accumulate(shard, params.table(), np.full(k, 1 / k))
        return split(stats, params), log_likelihood

    def posterior(self, params: MACEParams, shard: Workspace) -> F8:
        """Run the E-step alone."""
        k = shard.shard.n_classes
        return e_step(shard, params.table(), np.full(k, 1 / k))

    def maximise(self, stats: Stats) -> MACEParams:
        """Return the shares of known labels, and of spammed ones by label."""
        return self.mean(stats)

    def mean(self, stats: Stats) -> MACEParams:
        """Return the probabilities of these counts."""
        n_known, spammed = stats.counts[:, :, 0].sum(axis=1) + self.a, stats.counts[:, :, 1] + self.b
        spam = stats.counts[:, :, 1].sum(axis=1) + self.a
        habit = spammed / spammed.sum(axis=1, keepdims=True)
        return MACEParams(n_known / (n_known + spam), spam / (n_known + spam), habit, stats.counts)

    def log_prior(self, params: MACEParams) -> float:
        """Return the log Beta and Dirichlet densities, whose mode the M-step takes."""
        coins = np.log(params.know) + np.log(params.spam)
        return float(self.a * coins.sum() + self.b * np.log(params.habit).sum())


class VariationalMACE(MACEModel):
    """Variational Bayes: the parameters are exp E log under Beta and Dirichlet beliefs, the objective is the ELBO."""

    def maximise(self, stats: Stats) -> MACEParams:
        """Return exp E log of the beliefs under these counts."""
        n_known, spam, habit = self._beliefs(stats.counts)
        total = digamma(n_known + spam)
        weights = np.exp(digamma(habit) - digamma(habit.sum(axis=1, keepdims=True)))
        return MACEParams(np.exp(digamma(n_known) - total), np.exp(digamma(spam) - total), weights, stats.counts)

    def log_prior(self, params: MACEParams) -> float:
        """Return minus the divergence of the beliefs from their priors."""
        n_known, spam, habit = self._beliefs(params.counts)
        coins = np.stack([n_known, spam], axis=1)
        kl = divergence(coins, np.full_like(coins, self.a), axis=1)
        return -kl - divergence(habit, np.full_like(habit, self.b), axis=1)

    def _beliefs(self, counts: F8) -> tuple[F8, F8, F8]:
        n_known, spam = (counts[:, :, i].sum(axis=1) + self.a for i in (0, 1))
        return n_known, spam, counts[:, :, 1] + self.b


def split(stats: Stats, worker: MACEParams) -> Stats:
    """Split counts into known and spammed labels; know / (know + spam · habit) of the right labels are known."""
    right = np.einsum("wkk->wk", stats.counts)
    know = worker.know[:, None]
    n_known = right * know / (know + worker.spam[:, None] * worker.habit)
    return Stats(np.stack([n_known, stats.counts.sum(axis=2) - n_known], axis=2), stats.mass)


# Passes from each start, before only the best one is continued.
PILOT = 20


@dataclass(frozen=True, kw_only=True)
class MACE(PartitionedAggregator):
    """MACE: a worker either knows the answer or spams, and every spammer has their own label distribution.

        know_iw ~ Bern(theta_w),   y_iw = z_i if they know, else y_iw ~ Cat(xi_w),   z_i uniform

    Hovy, Berg-Kirkpatrick, Vaswani & Hovy (2013), Learning whom to trust with MACE, NAACL,
    aclanthology.org/N13-1132. EM with the spamming marginalised: confusion = theta I + (1 - theta) xi, so one pass
    of the shared kernel is the E-step, and the expected numbers of known and spammed labels follow from its counts.
    Restarts begin with randomly weighted votes. Fails with workers who confuse particular classes: a worker has one
    distribution of spammed labels, not one per class.

    Args:
        seed: Seed for ties and random starts.
        smoothing: Pseudo-counts, divided by K, of the mode that EM finds; usually 0.01 to 1.
        variational: Whether to use variational Bayes instead of EM.
        prior_know: Both parameters of the Beta prior on knowing, for variational Bayes (Hovy: 0.5).
        prior_habit: Parameter of the Dirichlet prior on spammed labels, for variational Bayes (Hovy: 10).
        n_init: Number of starts.
        max_iter: Maximum number of iterations.
        tol: Relative change of the objective at which the fit stops.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> MACE().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "mace"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("know", "habit")
    smoothing: Positive = 1.0
    variational: bool = False
    prior_know: Positive = 0.5
    prior_habit: Positive = 10.0
    n_init: Count = 10
    max_iter: Count = 500
    tol: NonNegative = 1e-8

    def learn(self, votes: PartitionedVotes, options: SolveOptions) -> FitState:
        """Run a few passes from every start, then continue the best one."""
        if self.variational:
            model: MACEModel = VariationalMACE(self.prior_know, self.prior_habit)
        else:
            model = MACEModel(self.smoothing / votes.n_classes, self.smoothing / votes.n_classes)
        data: Passes[Workspace, MACEParams, Stats] = Passes(model, votes)
        pilot = min(PILOT, self.max_iter)
        begin = [data.start(partial(model.start, at=at)) for at in self.starts(votes)]
        fits = [run(data, stats, max_iter=pilot, tol=self.tol) for stats in begin]
        fit = best_start(fits)
        trace = fit.trace
        if not fit.converged and self.max_iter > pilot:
            fit = run(data, fit.stats, max_iter=self.max_iter - pilot, tol=self.tol, callback=options.callback)
            trace = np.concatenate([trace, fit.trace])
        worker = model.mean(fit.stats)
        predictor = ModelPredictor(model, fit.params)
        counts = counted(votes, predictor)
        return FitState(
            predictor=predictor,
            class_prior=np.full(votes.n_classes, 1 / votes.n_classes),
            confusion=transposed(worker.table()),
            counts=transposed(counts),
            trace=trace,
            n_iter=len(trace),
            converged=fit.converged,
            extra={"know": worker.know, "habit": worker.habit, "theta": transposed(fit.params.table())},
        )

    def starts(self, shape: VotesShape) -> list[Start]:
        """Return vote shares, then votes under random worker weights, which favour no class."""
        streams = map(np.random.default_rng, np.random.SeedSequence(self.seed).spawn(self.n_init - 1))
        return [by_votes, *(WeightedVoteStart(rng.exponential(size=shape.n_workers)) for rng in streams)]


def best_start(fits: list[Fit[MACEParams, Stats]]) -> Fit[MACEParams, Stats]:
    """Return the first fit that no other exceeds by more than rounding."""
    top = max(fit.objective for fit in fits)
    return next(fit for fit in fits if fit.objective >= top - 1e-7 * max(1.0, abs(top)))
