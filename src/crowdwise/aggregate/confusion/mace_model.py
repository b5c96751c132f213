"""The two M-steps of MACE over the shared kernel: the mode of the density, and variational beliefs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from ...maths.dirichlet import divergence
from ...maths.kernels import Stats, Workspace, accumulate, e_step, stats_of
from .starts import Start, by_votes

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
