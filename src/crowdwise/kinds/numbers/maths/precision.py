"""How precise each worker is: a Gamma posterior per worker under a Gamma prior that is fitted to all of them.

    q_m ~ Gamma(a, a s0²),   E[q_m] = (a + N_m / 2) / (a s0² + SS_m / 2)

Two guards against workers who say nearly always the same, whose noise would shrink to nothing: a >= `strength` (a prior
worth twice that many answers), and no worker's precision above a cap. Under the cap the best posterior keeps its
shape and takes the rate that puts its mean there, so capped steps climb the same bound as free ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .rows import F8, Mask

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
        """The prior that suits the workers' expected squared errors best, and the posteriors under it.

        Both together: one after the other, a prior that is worth many answers would hardly move.
        """
        if not heard.any():
            a, variance = self.a, self.variance
        else:
            a, variance = best_prior(n[heard], square[heard], self.cap, strength)
        return replace(self, square=square).with_prior(a, variance, n)

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

    def with_prior(self, a: float, variance: float, n: F8) -> Precision:
        """The best posteriors under another prior, from the same squared errors."""
        shape = a + n / 2
        square = np.zeros(len(n)) if self.square is None else self.square
        rate = np.maximum(a * variance + square / 2, shape / self.cap)
        return Precision(shape, rate, a, variance, self.cap, self.square)

    def described(self, n: F8, heard: Mask) -> tuple[F8, float]:
        """Noise variances to tell of the workers, and the a behind them: neither guard is needed for that.

        The guards keep estimates safe; in a description they would make precise workers vaguer and vague ones more
        precise. Silent workers get the crowd's.
        """
        if self.square is None or not heard.any():
            return np.full(len(n), self.variance), 1.0
        a, variance = best_prior(n[heard], self.square[heard], HIGHEST, 0.5)
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


def best_prior(n: F8, square: F8, cap: float, least: float) -> tuple[float, float]:
    """The a in least..MOST and s0² with the highest bound, each worker's posterior at its best under them.

    n[worker] answers with the expected squared errors square[worker]. At a given a the best s0² is the inverse of the
    mean precision; along these pairs the bound's slope in a crosses zero once, if at all.
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
        own = (psi(a + sizes / 2) - np.log(a + sizes / 2))[size] + np.log(q)
        return float((own - noise * q).mean() + np.log(a * noise) + 1 - psi(a))

    low, high = float(np.log(least)), float(np.log(MOST))
    if slope(low) <= 0:
        found = low
    elif slope(high) >= 0:
        found = high
    else:
        found = float(brentq(slope, low, high, xtol=1e-14, rtol=1e-14))
    a = float(np.exp(found))
    return a, _noise(n, square, cap, a, noise)


def _noise(n: F8, square: F8, cap: float, a: float, start: float) -> float:
    """The s0² with s0² times the mean precision = 1 at this a: Newton on its logarithm, kept between safe bounds."""
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
