"""Precisions of the workers: Gamma posteriors under a Gamma prior that is fitted to all workers.

    q_m ~ Gamma(a, a s0²),   E[q_m] = (a + N_m / 2) / (a s0² + SS_m / 2)

Two limits protect against workers who nearly always give the same answer, whose noise would shrink to zero:
a >= `strength` (a prior worth twice that many answers), and a cap on the precisions. Under the cap the best posterior
keeps its shape and takes the rate that puts its mean at the cap, so capped steps increase the same bound as free ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ....core.arrays import F8, Mask

HIGHEST = 1e12  # largest precision, relative to the answers' variance; identical answers would have an infinite one
MOST = 1e4  # largest shape of the prior: worth 20,000 answers, in effect one common variance


@dataclass(frozen=True, eq=False)
class Precision:
    """Gamma posteriors with shape[worker] and rate[worker], the prior (a, a s0²), and the cap on the means."""

    shape: F8
    rate: F8
    a: float
    variance: float
    cap: float
    square: F8 | None = None  # expected sums of squared errors of the workers

    @classmethod
    def start(cls, n: F8, variance: float, strength: float) -> Precision:
        """Start with all workers at the pooled variance."""
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

    def update(self, n: F8, square: F8, active: Mask, strength: float) -> Precision:
        """Fit the prior to the workers' expected squared errors and update the posteriors.

        Both are updated jointly: in alternation, a strong prior would hardly move.
        """
        if not active.any():
            a, variance = self.a, self.variance
        else:
            a, variance = best_prior(n[active], square[active], self.cap, strength)
        return replace(self, square=square).with_prior(a, variance, n)

    def limit(self, active: Mask, times: float) -> float | None:
        """Cap at `times` the median precision; None where it equals the current cap or has no effect."""
        if not active.any():
            return None
        limit = min(times * float(np.median(self.mean[active])), HIGHEST)
        if abs(limit / self.cap - 1) < 1e-3 or (self.cap == HIGHEST and not (self.mean[active] > limit).any()):
            return None
        return limit

    def capped(self, cap: float) -> Precision:
        """Apply another cap."""
        return Precision(self.shape, np.maximum(self.rate, self.shape / cap), self.a, self.variance, cap, self.square)

    def with_prior(self, a: float, variance: float, n: F8) -> Precision:
        """Best posteriors under another prior, from the same squared errors."""
        shape = a + n / 2
        square = np.zeros(len(n)) if self.square is None else self.square
        rate = np.maximum(a * variance + square / 2, shape / self.cap)
        return Precision(shape, rate, a, variance, self.cap, self.square)

    def described(self, n: F8, active: Mask) -> tuple[F8, float]:
        """Noise variances for the description of the workers, and the fitted a, without the two limits.

        The limits protect the estimates; in a description they would distort precise and imprecise workers. Workers
        without answers get the variance of the population.
        """
        if self.square is None or not active.any():
            return np.full(len(n), self.variance), 1.0
        a, variance = best_prior(n[active], self.square[active], HIGHEST, 0.5)
        out = (a * variance + self.square / 2) / (a + n / 2)
        return np.where(active, np.maximum(out, 1 / HIGHEST), self.variance), a

    def bound(self, n: F8, active: Mask) -> float:
        """Part of the evidence bound that depends on the precisions, including E[log q] of the answers."""
        from scipy.special import gammaln

        shape, rate, q, log_q = self.shape[active], self.rate[active], self.mean[active], self.log_mean[active]
        prior_rate = self.a * self.variance
        prior = self.a * np.log(prior_rate) - gammaln(self.a) + (self.a - 1) * log_q - prior_rate * q
        posterior = shape * np.log(rate) - gammaln(shape) + (shape - 1) * log_q - rate * q
        return float((prior - posterior + n[active] / 2 * log_q).sum())


def best_prior(n: F8, square: F8, cap: float, least: float) -> tuple[float, float]:
    """Maximise the evidence bound over a in least..MOST and s0², with optimal posteriors of the workers.

    n[worker] answers have expected squared errors square[worker]. For a given a, the best s0² is the inverse of the
    mean precision; along these pairs the derivative of the bound in a crosses zero at most once.
    """
    from scipy.optimize import brentq
    from scipy.special import psi

    sizes, size = np.unique(n, return_inverse=True)
    noise = _noise(n, square, cap, least, max(float(square.sum() / n.sum()), 1 / HIGHEST))

    def slope(log_a: float) -> float:
        nonlocal noise
        a = float(np.exp(log_a))
        noise = _noise(n, square, cap, a, noise)
        q = np.minimum(cap, (a + n / 2) / (a * noise + square / 2))
        expected_log = (psi(a + sizes / 2) - np.log(a + sizes / 2))[size] + np.log(q)
        return float((expected_log - noise * q).mean() + np.log(a * noise) + 1 - psi(a))

    low, high = float(np.log(least)), float(np.log(MOST))
    if slope(low) <= 0:
        log_a = low
    elif slope(high) >= 0:
        log_a = high
    else:
        log_a = float(brentq(slope, low, high, xtol=1e-14, rtol=1e-14))
    a = float(np.exp(log_a))
    return a, _noise(n, square, cap, a, noise)


def _noise(n: F8, square: F8, cap: float, a: float, start: float) -> float:
    """Solve s0² · mean precision = 1 at this a, by Newton steps on log s0² safeguarded by bisection."""
    low = 1 / cap
    high = max(float((square / n).max()), low)
    x, low, high = np.log(np.clip(start, low, high)), np.log(low), np.log(high)
    for _ in range(100):
        v = np.exp(x)
        free = (a + n / 2) / (a * v + square / 2)
        share = v * np.minimum(free, cap)
        excess = float(share.mean()) - 1  # rises with v
        if excess > 0:
            high = x
        else:
            low = x
        rise = float(np.where(free < cap, share * (square / 2) / (a * v + square / 2), share).mean())
        new = x - excess / max(rise, 1e-300)
        new = new if low < new < high else (low + high) / 2
        if abs(new - x) < 1e-14 * max(1.0, abs(x)):
            break
        x = new
    return float(np.exp(x))
