"""Dirichlet-multinomial evidence of rows of counts: their common mean and concentration."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from ..core.arrays import F8


def log_evidence(counts: F8, mean: F8, strength: float) -> float:
    """log of the product over rows of DirMult(counts[row]; strength · mean), without the binomial constants."""
    return float(log_rows(counts, strength * mean, axis=1).sum())


def log_rows(counts: F8, prior: F8, axis: int) -> F8:
    """log DirMult(counts; prior) along an axis of both, without the binomial constants.

    >>> log_rows(np.array([[1.0, 1.0]]), np.ones(2), axis=1).round(3).tolist()  # log 1/2 · 1/3
    [-1.792]
    """
    prior = np.broadcast_to(prior, np.broadcast_shapes(prior.shape, (1,) * counts.ndim))
    mass, total = prior.sum(axis=axis), counts.sum(axis=axis)
    if prior.shape[axis] == 1:  # the same for every entry
        mass = mass * counts.shape[axis]
    cells = gammaln(prior + counts) - gammaln(prior)
    return np.asarray(gammaln(mass) - gammaln(mass + total) + cells.sum(axis=axis))


def update_mean(counts: F8, mean: F8, strength: float, pseudo: F8, rounds: int = 3) -> F8:
    """Minka's fixed point for the mean of a Dirichlet at a given strength, with pseudo-counts `pseudo` for the mean.

    Minka (2000), Estimating a Dirichlet distribution, section 4 (mean at fixed precision).
    """
    for _ in range(rounds):
        prior = strength * mean
        pull = (prior * (digamma(prior + counts) - digamma(prior))).sum(axis=0) + pseudo
        mean = np.maximum(pull / pull.sum(), 1e-12)
    return np.asarray(mean / mean.sum())


def best_strength(counts: F8, mean: F8, low: float, high: float) -> float:
    """Return the strength in [low, high] with the highest evidence: the zero of its slope (Illinois method)."""
    total = counts.sum(axis=1)
    lo, hi = float(np.log(low)), float(np.log(high))
    at_lo, at_hi = _slope(counts, total, mean, low), _slope(counts, total, mean, high)
    if at_hi >= 0:
        return high
    if at_lo <= 0:
        return low
    for _ in range(100):
        x = (lo * at_hi - hi * at_lo) / (at_hi - at_lo)
        at_x = _slope(counts, total, mean, float(np.exp(x)))
        if at_x > 0:
            lo, at_lo, at_hi = x, at_x, at_hi / 2
        else:
            hi, at_hi, at_lo = x, at_x, at_lo / 2
        if hi - lo < 1e-3 or at_x == 0:
            break
    return float(np.exp((lo + hi) / 2))


def _slope(counts: F8, total: F8, mean: F8, strength: float) -> float:
    """Derivative of the evidence with respect to the logarithm of the strength."""
    prior = strength * mean
    rows = float((digamma(strength) - digamma(strength + total)).sum())
    return strength * (rows + float((mean * (digamma(prior + counts) - digamma(prior))).sum()))


def log_mean(belief: F8, axis: int) -> F8:
    """E log x under Dirichlets whose parameters are along `axis`."""
    return np.asarray(digamma(belief) - digamma(belief.sum(axis=axis, keepdims=True)))


def divergence(belief: F8, prior: F8, axis: int) -> float:
    """Kullback-Leibler divergence of Dirichlet beliefs from their priors, summed over all of them.

    >>> divergence(np.array([2.0, 1.0]), np.array([1.0, 1.0]), axis=0).__round__(3)  # log 2 - 1/2
    0.193
    """
    return float(divergences(belief, prior, axis).sum())


def divergences(belief: F8, prior: F8, axis: int) -> F8:
    """Kullback-Leibler divergence of each Dirichlet belief from its prior."""
    ends = gammaln(belief.sum(axis=axis)) - gammaln(prior.sum(axis=axis))
    cells = gammaln(prior) - gammaln(belief) + (belief - prior) * log_mean(belief, axis)
    return np.asarray(ends + cells.sum(axis=axis))
