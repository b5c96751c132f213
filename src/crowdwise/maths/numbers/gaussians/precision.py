"""How precise each worker is: a Gamma posterior per worker under a Gamma prior that is fitted to all of them.

    q_m ~ Gamma(a, a s0²),   E[q_m] = (a + N_m / 2) / (a s0² + SS_m / 2)

Two guards against workers who say nearly always the same, whose noise would shrink to nothing: a >= `strength` (a prior
worth twice that many answers), and no worker's precision above a cap. Under the cap the best posterior keeps its
shape and takes the rate that puts its mean there, so capped steps climb the same bound as free ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..rows import F8, Mask

HIGHEST = 1e12  # answers that all agree would have infinite precision; in units of the answers' variance
MOST = 1e4  # a prior worth 20,000 answers is a common variance for all


@dataclass(frozen=True, eq=False)
class Precision:
    """shape[worker], rate[worker] of the posterior, prior (a, a s0²), and the cap on the mean."""

    shape: F8
    rate: F8
    a: float
    variance: float
    cap: float
    square: F8 | None = None  # the workers' expected squared errors behind it

    @classmethod
    def start(cls, n: F8, variance: float, strength: float) -> Precision:
        """Everybody at the pooled variance."""
        shape = strength + n / 2
        return cls(shape, shape * max(variance, 1 / HIGHEST), strength, variance, HIGHEST)

    @property
    def mean(self) -> F8:
        """E[q]."""
        return self.shape / self.rate

    @property
    def log_mean(self) -> F8:
        """E[log q]."""
        from scipy.special import psi

        return np.asarray(psi(self.shape) - np.log(self.rate))

    def update(self, n: F8, square: F8, heard: Mask, strength: float) -> Precision:
        """New posteriors from the workers' expected squared errors, then the prior that suits them best."""
        shape = self.a + n / 2
        rate = np.maximum(self.a * self.variance + square / 2, shape / self.cap)
        new = Precision(shape, rate, self.a, self.variance, self.cap, square)
        q, log_q = new.mean[heard], new.log_mean[heard]
        if not len(q):
            return new
        a = _shape_of(float(np.log(q.mean()) - log_q.mean()), strength)
        return Precision(shape, rate, a, 1 / float(q.mean()), self.cap, square)

    def limit(self, heard: Mask, times: float) -> float | None:
        """The cap that suits these precisions, `times` their median; None where it is this one or cuts none."""
        if not heard.any():
            return None
        limit = min(times * float(np.median(self.mean[heard])), HIGHEST)
        if abs(limit / self.cap - 1) < 1e-3 or (self.cap == HIGHEST and not (self.mean[heard] > limit).any()):
            return None
        return limit

    def capped(self, cap: float) -> Precision:
        """Under another cap."""
        return Precision(self.shape, np.maximum(self.rate, self.shape / cap), self.a, self.variance, cap, self.square)

    def described(self, n: F8, heard: Mask) -> tuple[F8, float]:
        """Noise variances to tell of the workers, and the a behind them: neither guard is needed for that.

        The guards keep estimates safe; in a description they would make precise workers vaguer and vague ones more
        precise. Silent workers get the crowd's.
        """
        variance, a = self.variance, 1.0
        if self.square is None or not heard.any():
            return np.full(len(n), variance), a
        for _ in range(50):
            free = Precision(
                a + n / 2, np.maximum(a * variance + self.square / 2, (a + n / 2) / HIGHEST), a, variance, 0.0
            )
            q, log_q = free.mean[heard], free.log_mean[heard]
            old, a = a, _shape_of(float(np.log(q.mean()) - log_q.mean()), 0.5)
            variance = 1 / float(q.mean())
            if abs(a - old) < 1e-6 * a:
                break
        out = (a * variance + self.square / 2) / (a + n / 2)
        return np.where(heard, np.maximum(out, 1 / HIGHEST), self.variance), a

    def bound(self, n: F8, heard: Mask) -> float:
        """This part of the evidence bound, E[log q] of the answers included: minus the distance to the prior."""
        from scipy.special import gammaln

        shape, rate, q, log_q = self.shape[heard], self.rate[heard], self.mean[heard], self.log_mean[heard]
        prior_rate = self.a * self.variance
        prior = self.a * np.log(prior_rate) - gammaln(self.a) + (self.a - 1) * log_q - prior_rate * q
        own = shape * np.log(rate) - gammaln(shape) + (shape - 1) * log_q - rate * q
        return float((prior - own + n[heard] / 2 * log_q).sum())


def _shape_of(gap: float, least: float) -> float:
    """The a >= least with log a - psi(a) = gap (it falls with a), by Newton from Minka's start."""
    from scipy.special import psi, zeta

    if gap >= np.log(least) - psi(least):
        return least
    if gap <= 1 / (2 * MOST):
        return MOST
    a = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(20):
        old = a
        a = 1 / (1 / a + (np.log(a) - psi(a) - gap) / (a**2 * (1 / a - zeta(2, a))))  # zeta(2, a) = psi'(a)
        if abs(a - old) < 1e-12 * a:
            break
    return float(min(max(a, least), MOST))
