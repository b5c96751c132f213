"""The plain Gaussian model: free biases, one weak prior for all variances, maximum a posteriori by EM.

    y ~ N(mu, t²),   answer = y + b_m + noise of variance v_m,   v_m ~ InverseGamma(1, 0.1 var(answers))

Raykar et al. (2010), JMLR 11, 1297-1322. The objective is the log-likelihood with the tasks integrated out plus the
log prior of the variances; it never falls. Workers who always say the same pull it to themselves: see gaussian.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...em import climb
from ..fit import Fit, held, known, outward, relative
from ..linear import Linear
from ..rows import F8, Mask, Rows
from ..scaling import standardise
from ..simple import pooled_variance
from .passes import DOUBT, GAP, LOG_2PI, SQUARE, Message, Space, Stats

FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class Habits:
    """bias[worker], noise[worker] (variances), and the prior N(mu, tau) of the tasks."""

    bias: F8
    noise: F8
    mu: float
    tau: float


@dataclass(frozen=True, eq=False)
class Seen:
    """The statistics of a pass, and the habits that they are relative to."""

    stats: Stats
    under: Habits

    def extrapolate(self, one: Seen, two: Seen) -> Seen:  # noqa: ARG002
        """No leaps: the last pass."""
        return two


@dataclass(frozen=True, eq=False)
class PlainModel:
    """The model over rows, n[worker] answers of those who are heard."""

    space: Space
    n: F8
    heard: Mask
    strength: float
    share: float
    taught: bool

    def sweep(self, own: Habits) -> tuple[Seen, float]:
        """A pass, and the log-likelihood with the tasks integrated out."""
        stats = self.space.accumulate(Message(1 / own.noise, own.bias, own.mu, 1 / own.tau))
        square = stats.workers[:, SQUARE] @ (1 / own.noise)
        likelihood = stats.tasks[3] - 0.5 * (self.n @ (np.log(own.noise) + LOG_2PI) + square)
        return Seen(stats, own), float(likelihood)

    def log_prior(self, own: Habits) -> float:
        """Inverse gamma densities of the variances."""
        return float((-(self.strength + 1) * np.log(own.noise) - self.share / own.noise)[self.heard].sum())

    def maximise(self, seen: Seen) -> Habits:
        """New biases, variances and prior of the tasks, from the sums of a pass."""
        stats, own, n, heard = seen.stats, seen.under, self.n, self.heard
        gap, square, doubt = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT))
        moved = np.where(heard, gap / np.maximum(n, 1e-300), 0.0)
        bias, mu, tau = own.bias + moved, own.mu, own.tau
        error = np.maximum(square - 2 * moved * gap + n * moved**2, 0.0) + doubt
        noise = (error + 2 * self.share) / (n + 2 * self.strength + 2)
        count, first, second = stats.tasks[:3]
        if count:
            mu, tau = float(first / count), max(float(second / count - (first / count) ** 2), FLOOR)
        if not self.taught and heard.any():
            middle = float(bias[heard].mean())  # only y + b is seen: moving a constant changes nothing
            bias, mu = np.where(heard, bias - middle, 0.0), mu + middle
        return Habits(bias, np.where(heard, noise, self.share / (self.strength + 1)), mu, tau)


def gaussian_plain(
    rows: Rows,
    gold: F8 | None = None,
    *,
    strength: float = 1.0,
    share: float = 0.1,
    max_iter: int = 500,
    tol: float = 1e-7,
    shards: int = 1,
) -> Fit:
    """Fit; the variances' prior is InverseGamma(strength, share * variance of the answers)."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, heard = rows.per_worker, rows.per_worker > 0
    taught = bool(known(gold, rows.n_tasks).any())
    model = PlainModel(Space.of(rows, gold, shards), n, heard, strength, share, taught)
    per = max(float(n.sum()), 1.0)
    found = climb(model, model.sweep, start(rows, gold), max_iter=max_iter, tol=tol, per=per)
    return outward(describe(rows, gold, found.params, found.trace, found.converged), scale)


def start(rows: Rows, gold: F8 | None) -> Habits:
    """No biases, one variance, tasks as the means have them."""
    mean = held(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    some = mean[rows.per_task > 0]
    mu, tau = (float(some.mean()), max(float(some.var()), FLOOR)) if len(some) else (0.0, 1.0)
    return Habits(np.zeros(rows.n_workers), np.full(rows.n_workers, pooled_variance(rows, mean)), mu, tau)


def describe(rows: Rows, gold: F8 | None, own: Habits, trace: F8, converged: bool) -> Fit:
    """Estimates under what was learnt."""
    heard, zero = rows.per_worker > 0, np.zeros(rows.n_workers)
    q = 1 / np.where(heard, own.noise, float(own.noise[heard].mean()) if heard.any() else 1.0)
    judge = Linear(q, q, q * own.bias, own.mu, 1 / own.tau, zero, (own.mu, own.tau))
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    extra = {"linear": judge, "prior_mean": own.mu, "prior_variance": own.tau, "bias_doubt": zero}
    return Fit("gaussian_plain", mean, variance, own.bias, 1 / np.sqrt(q), zero + 1, relative(q, rows), trace,
               len(trace), converged, extra)  # fmt: skip
