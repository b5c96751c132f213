"""How many gold labels a promise or an interval needs, before any is drawn."""

from __future__ import annotations

import math

import numpy as np


def no_error_seen(alpha: float, delta: float) -> int:
    """Gold labels in the accepted region that show an error below alpha if none of them is wrong.

    >>> [no_error_seen(a, 0.1) for a in (0.01, 0.02, 0.05, 0.1, 0.2)]
    [230, 114, 45, 22, 11]
    """
    return math.ceil(math.log(delta) / math.log1p(-alpha) - 1e-9)


def for_power(alpha: float, delta: float, error: float, power: float = 0.8) -> int:
    """The same if the true share of errors is `error` and the test must pass with probability `power`.

    >>> for_power(0.05, 0.1, 0.0125)
    105
    """
    from scipy.stats import binom

    if not 0 <= error < alpha:
        raise ValueError(f"error must be from 0 to below {alpha}, got {error}")
    for allowed in range(100_000):
        n = _fewest(alpha, delta, allowed)
        if float(binom.cdf(allowed, n, error)) >= power:
            return n
    raise ValueError("the error is too close to what is asked for")


def _fewest(alpha: float, delta: float, allowed: int) -> int:
    """The fewest gold labels of which `allowed` may be wrong."""
    from scipy.stats import binom

    low, high = allowed, max(2 * no_error_seen(alpha, delta), 4)
    while float(binom.cdf(allowed, high, alpha)) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if float(binom.cdf(allowed, middle, alpha)) <= delta else (middle, high)
    return high


def for_half_width(half: float, share: float, r2: float, level: float = 0.95) -> int:
    """Gold labels that give a share an interval of plus and minus `half`, with verdicts that explain `r2` of it.

    >>> [for_half_width(0.05, 0.3, r) for r in (0, 0.5, 0.75, 0.9)]
    [323, 162, 81, 33]
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    return max(math.ceil(z**2 * share * (1 - share) * (1 - r2) / half**2 - 1e-9), 1)


def best_split(r2: float, judge: float, person: float) -> float:
    """Gold labels per judged task that narrow an interval most for the money: n/N' = sqrt((1-R²)/R² · c_J/c_h).

    >>> round(best_split(0.504, 0.5, 20), 4)
    0.1569
    """
    return float(np.sqrt((1 - r2) / r2 * judge / person)) if r2 > 0 else math.inf


def worth_paying(r2: float) -> float:
    """The highest price of a verdict, as a share of a person's label, at which the judge still helps."""
    return float(r2 / (1 + np.sqrt(1 - r2)) ** 2)
