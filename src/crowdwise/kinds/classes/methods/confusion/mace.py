"""The two M-steps of MACE over the shared kernel: the mode of the density, and variational beliefs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from .....core.params import Count, NonNegative, Positive
from .....em.kernels import Stats, Workspace, accumulate, e_step, stats_of
from .....em.loop import Fit
from .....em.passes import Passes, run
from .....stats.dirichlet import divergence
from ..base import Run, SpreadAggregator
from ..spread import Learnt, Shape, Spread, Under
from .base import Start, Weighed, by_votes, counted

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Worker:
    """Weights know[worker], spam[worker] and habit[worker, label]; probabilities, or exp E log of them."""

    know: F8
    spam: F8
    habit: F8
    counts: F8  # of the M-step that made them, [worker, label, (known, spammed)]

    def table(self) -> F8:
        """g[worker, observed, true]."""
        k = self.habit.shape[1]
        g = np.repeat((self.spam[:, None] * self.habit)[:, :, None], k, axis=2)
        g[:, np.arange(k), np.arange(k)] += self.know[:, None]
        return g


class Mode:
    """MAP: pseudo-counts on knowing and spamming alike, and on every habit.

    Statistics are counts[worker, label, (known, spammed)].
    """

    def __init__(self, prior_know: float, prior_habit: float) -> None:
        self.a, self.b = prior_know, prior_habit

    def start(self, shard: Workspace, at: Start = by_votes) -> Stats:
        """Known and spammed labels of a first posterior, before anything is known of the workers."""
        m, k = shard.shard.n_workers, shard.shard.n_classes
        even = Worker(np.full(m, 0.5), np.full(m, 0.5), np.full((m, k), 1 / k), np.empty(0))
        return split(stats_of(shard, at(shard)), even)

    def accumulate(self, params: Worker, shard: Workspace) -> tuple[Stats, float]:
        """The shared kernel under theta I + (1 - theta) xi, then who knew and who spammed."""
        k = shard.shard.n_classes
        stats, log_likelihood = accumulate(shard, params.table(), np.full(k, 1 / k))
        return split(stats, params), log_likelihood

    def posterior(self, params: Worker, shard: Workspace) -> F8:
        """The E-step alone."""
        k = shard.shard.n_classes
        return e_step(shard, params.table(), np.full(k, 1 / k))

    def maximise(self, stats: Stats) -> Worker:
        """Shares of known labels and of spammed ones by label."""
        return self.mean(stats)

    def mean(self, stats: Stats) -> Worker:
        """Probabilities that the counts amount to."""
        known, spammed = stats.counts[:, :, 0].sum(axis=1) + self.a, stats.counts[:, :, 1] + self.b
        spam = stats.counts[:, :, 1].sum(axis=1) + self.a
        habit = spammed / spammed.sum(axis=1, keepdims=True)
        return Worker(known / (known + spam), spam / (known + spam), habit, stats.counts)

    def log_prior(self, params: Worker) -> float:
        """Beta and Dirichlet densities whose mode the M-step takes."""
        coins = np.log(params.know) + np.log(params.spam)
        return float(self.a * coins.sum() + self.b * np.log(params.habit).sum())


class Beliefs(Mode):
    """Variational Bayes: the weights are exp E log under Beta and Dirichlet beliefs, the objective is the ELBO."""

    def maximise(self, stats: Stats) -> Worker:
        """exp E log of the beliefs that the counts call for."""
        known, spam, habit = self._beliefs(stats.counts)
        both = digamma(known + spam)
        weights = np.exp(digamma(habit) - digamma(habit.sum(axis=1, keepdims=True)))
        return Worker(np.exp(digamma(known) - both), np.exp(digamma(spam) - both), weights, stats.counts)

    def log_prior(self, params: Worker) -> float:
        """Minus the divergence of the beliefs from their priors."""
        known, spam, habit = self._beliefs(params.counts)
        coins = np.stack([known, spam], axis=1)
        kl = divergence(coins, np.full_like(coins, self.a), axis=1)
        return -kl - divergence(habit, np.full_like(habit, self.b), axis=1)

    def _beliefs(self, counts: F8) -> tuple[F8, F8, F8]:
        known, spam = (counts[:, :, i].sum(axis=1) + self.a for i in (0, 1))
        return known, spam, counts[:, :, 1] + self.b


def split(stats: Stats, worker: Worker) -> Stats:
    """Expected labels known and spammed; of a right label, know / (know + spam · habit) was known."""
    right = np.einsum("wkk->wk", stats.counts)
    know = worker.know[:, None]
    known = right * know / (know + worker.spam[:, None] * worker.habit)
    return Stats(np.stack([known, stats.counts.sum(axis=2) - known], axis=2), stats.mass)


# Passes from each start before the best start goes on alone.
PILOT = 20


@dataclass(frozen=True, kw_only=True)
class MACE(SpreadAggregator):
    """MACE: a worker either knows the answer or spams, and every spammer has habits of their own.

        know_iw ~ Bern(theta_w),   y_iw = z_i if they know, else y_iw ~ Cat(xi_w),   z_i uniform

    Hovy, Berg-Kirkpatrick, Vaswani & Hovy (2013), Learning whom to trust with MACE, NAACL,
    aclanthology.org/N13-1132. EM with the spamming marginalised: confusion = theta I + (1 - theta) xi, so one pass
    of the shared kernel is the E-step, and the expected numbers of known and spammed labels follow from its counts.
    Restarts weigh the workers' first votes at random. Fails with workers who confuse particular classes: a worker
    has one habit, not one per class.

    The mode under `smoothing` / K pseudo-counts (> 0, usually 0.01 to 1), or, with `variational`, beliefs
    Beta(`prior_know`, `prior_know`) on knowing and Dir(`prior_habit`) on the habits (Hovy's defaults 0.5 and 10).

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

    def learn(self, votes: Spread, run_: Run) -> Learnt:
        """A few passes from every start, then the best of them to the end."""
        if self.variational:
            model: Mode = Beliefs(self.prior_know, self.prior_habit)
        else:
            model = Mode(self.smoothing / votes.n_classes, self.smoothing / votes.n_classes)
        data: Passes[Workspace, Worker, Stats] = Passes(model, votes)
        pilot = min(PILOT, self.max_iter)
        begin = [data.start(partial(model.start, at=at)) for at in self.starts(votes)]
        fits = [run(data, stats, max_iter=pilot, tol=self.tol) for stats in begin]
        fit = best_start(fits)
        trace = fit.trace
        if not fit.converged and self.max_iter > pilot:
            fit = run(data, fit.stats, max_iter=self.max_iter - pilot, tol=self.tol, callback=run_.callback)
            trace = np.concatenate([trace, fit.trace])
        worker = model.mean(fit.stats)
        judge = Under(model, fit.params)
        counts = counted(votes, judge)
        return Learnt(
            judge=judge,
            class_prior=np.full(votes.n_classes, 1 / votes.n_classes),
            confusion=np.ascontiguousarray(worker.table().transpose(0, 2, 1)),
            counts=np.ascontiguousarray(counts.transpose(0, 2, 1)),
            trace=trace,
            n_iter=len(trace),
            converged=fit.converged,
            extra={
                "know": worker.know,
                "habit": worker.habit,
                "theta": np.ascontiguousarray(fit.params.table().transpose(0, 2, 1)),
            },
        )

    def starts(self, shape: Shape) -> list[Start]:
        """Vote shares, then votes under random weights of the workers: new starts that favour no class."""
        streams = map(np.random.default_rng, np.random.SeedSequence(self.seed).spawn(self.n_init - 1))
        return [by_votes, *(Weighed(rng.exponential(size=shape.n_workers)) for rng in streams)]


def best_start(fits: list[Fit[Worker, Stats]]) -> Fit[Worker, Stats]:
    """The first fit that no other beats by more than rounding."""
    top = max(fit.objective for fit in fits)
    return next(fit for fit in fits if fit.objective >= top - 1e-7 * max(1.0, abs(top)))
