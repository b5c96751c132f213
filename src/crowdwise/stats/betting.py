"""Tests that may be repeated after every value: e-processes by betting against a mean.

A bet of lambda against "the mean is at least m" multiplies the capital by 1 + lambda (m - x) for each value x in
[0, 1]. While the mean is at least m, the capital does not grow on average, so it ever reaches 1 / alpha with
probability at most alpha, however often one looks (Ville's inequality). The capital is spread over fixed bets, so it
does not depend on the order of the values. Waudby-Smith & Ramdas (2024), JRSS B 86(1), doi:10.1093/jrsssb/qkad009.
"""

from __future__ import annotations

import numpy as np

from ..core.arrays import F8

# Bets as shares of the largest one, which would lose everything with one value of 1.
BETS = np.geomspace(0.01, 0.95, 20)
# A mean of 1 could be refuted by one value; the bets against it are bounded.
HIGHEST = 0.999


def log_capital(x: F8, floor: float) -> F8:
    """Return the log of the capital after each value, starting from 1, that bets against a mean of at least `floor`.

    Args:
        x: Values between 0 and 1.
        floor: The mean in question.

    >>> bool(log_capital(np.zeros(20), 0.9)[-1] > np.log(20))
    True
    """
    floor = min(floor, HIGHEST)
    gains = np.log1p(np.multiply.outer(floor - np.asarray(x, dtype=float), BETS / (1 - floor)))
    paths = np.cumsum(gains, axis=0)
    return np.asarray(np.logaddexp.reduce(paths, axis=1) - np.log(len(BETS)))


def capital(x: F8, floor: float) -> float:
    """Return the log of the capital after all values; 0 if there are none."""
    if not len(x):
        return 0.0
    values, times = np.unique(x, return_counts=True)
    floor = min(floor, HIGHEST)
    paths = np.log1p(np.multiply.outer(BETS / (1 - floor), floor - values)) @ times
    return float(np.logaddexp.reduce(paths) - np.log(len(BETS)))


def confidence_sequence(x: F8, alpha: float) -> tuple[float, float]:
    """Return an interval of the mean that holds at all looks together with probability at least 1 - alpha.

    >>> low, high = confidence_sequence(np.tile([1.0, 1, 1, 0], 100), 0.05)
    >>> 0.65 < low < 0.75 < high < 0.85
    True
    """
    return 1 - _highest_mean(1 - np.asarray(x, dtype=float), alpha / 2), _highest_mean(x, alpha / 2)


def _highest_mean(x: F8, alpha: float) -> float:
    """Return the lowest mean that is refuted as too high."""
    if not len(x) or capital(x, HIGHEST) < -np.log(alpha):
        return 1.0
    low, high = float(np.mean(x)), HIGHEST
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if capital(x, middle) >= -np.log(alpha) else (middle, high)
    return high


def losses_needed(alpha: float) -> int:
    """Return how many values of 0 in a row of paired differences (else 1/2) refute a mean of at least 1/2.

    >>> losses_needed(0.025)
    10
    """
    for n in range(1, 10_000):
        if capital(np.zeros(n), 0.5) >= -np.log(alpha):
            return n
    raise ValueError("alpha is too small")
