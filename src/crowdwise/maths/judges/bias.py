"""Are judges swayed by what should not matter? Position, length, own family, any covariate.

Position, from pairs shown in both orders: FF pairs were won twice by what stood first, SS twice by what stood second.
Whatever the quality gap, log(FF / SS) = 2 beta, so beta needs no gold.
Covariates: the rectifier, judge - people, is regressed on them by least squares with HC3 errors (MacKinnon & White
1985, doi:10.1016/0304-4076(85)90158-7). Without people the same regression only shows an association.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]

# Power .8 at level .05 two-sided needs an effect of 2.8 standard errors; that of beta is near 1 / sqrt(FF + SS).
VISIBLE = 2.8


@dataclass(frozen=True)
class Effect:
    """An effect with its standard error, interval and p-value."""

    value: float
    se: float
    low: float
    high: float
    p: float


def position_both(first: int, second: int, level: float = 0.95) -> Effect:
    """beta from pairs won twice by the option shown first, and twice by the one shown second.

    >>> found = position_both(40, 16)
    >>> round(found.value, 4), round(found.se, 4), round(found.p, 5)
    (0.449, 0.146, 0.00184)
    """
    from scipy.stats import binomtest, norm

    beta = 0.5 * np.log((first + 0.5) / (second + 0.5))
    se = 0.5 * np.sqrt(1 / (first + 0.5) + 1 / (second + 0.5))
    z = norm.ppf((1 + level) / 2)
    p = 1.0 if first + second == 0 else float(binomtest(first, first + second).pvalue)
    return Effect(float(beta), float(se), float(beta - z * se), float(beta + z * se), p)


def position_once(first: int, n: int, level: float = 0.95) -> Effect:
    """Share of pairs won by the option shown first, less a half, where each pair was shown once in a random order."""
    from scipy.stats import binomtest

    if n == 0:
        nan = float("nan")
        return Effect(nan, nan, nan, nan, 1.0)
    test = binomtest(first, n)
    span = test.proportion_ci(level, method="exact")
    share = first / n
    se = float(np.sqrt(share * (1 - share) / n))
    return Effect(share - 0.5, se, float(span.low) - 0.5, float(span.high) - 0.5, float(test.pvalue))


def smallest_visible(first: int, second: int) -> float:
    """The smallest beta that so many pairs would show in four of five cases."""
    return float(VISIBLE / np.sqrt(max(first + second, 1)))


def regression(y: F8, x: F8, level: float = 0.95) -> list[Effect]:
    """Least squares of y[row] on x[row, covariate] and a constant: each slope with HC3 errors and Student's t."""
    from scipy.stats import t

    n, p = len(y), x.shape[1] + 1
    if n <= p:
        return [Effect(*[float("nan")] * 5)] * x.shape[1]
    design = np.column_stack([np.ones(n), x])
    inverse = np.linalg.pinv(design.T @ design)
    slope = inverse @ (design.T @ y)
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    residual = (y - design @ slope) / np.maximum(1 - leverage, 1e-9)
    spread = design * residual[:, None]
    se = np.sqrt(np.maximum(np.diag(inverse @ (spread.T @ spread) @ inverse), 0.0))
    wide = t.ppf((1 + level) / 2, n - p)
    found = []
    for value, error in zip(slope[1:], se[1:], strict=True):
        chance = float(2 * t.sf(abs(value) / error, n - p)) if error > 0 else float(value == 0)
        found.append(
            Effect(float(value), float(error), float(value - wide * error), float(value + wide * error), chance)
        )
    return found
