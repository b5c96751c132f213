"""Statistics of judges: biases, value of verdicts, and the effective number of independent judges.

Position bias, from pairs shown in both orders: FF pairs were won twice by the option shown first, SS twice by the one
shown second. For any quality gap, log(FF / SS) = 2 beta, so beta needs no gold.
Covariates: the rectifier, judge - people, is regressed on them by least squares with HC3 errors (MacKinnon & White
1985, doi:10.1016/0304-4076(85)90158-7). Without labels of people the same regression only shows an association.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8, I8

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
    """Estimate beta from the numbers of pairs won twice by the first and twice by the second option.

    >>> effect = position_both(40, 16)
    >>> round(effect.value, 4), round(effect.se, 4), round(effect.p, 5)
    (0.449, 0.146, 0.00184)
    """
    from scipy.stats import binomtest, norm

    beta = 0.5 * np.log((first + 0.5) / (second + 0.5))
    se = 0.5 * np.sqrt(1 / (first + 0.5) + 1 / (second + 0.5))
    z = norm.ppf((1 + level) / 2)
    p = 1.0 if first + second == 0 else float(binomtest(first, first + second).pvalue)
    return Effect(float(beta), float(se), float(beta - z * se), float(beta + z * se), p)


def position_once(first: int, n: int, level: float = 0.95) -> Effect:
    """Share of pairs won by the option shown first minus a half, where each pair was shown once in random order."""
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
    """Smallest beta that this number of pairs detects with power .8."""
    return float(VISIBLE / np.sqrt(max(first + second, 1)))


def regression(y: F8, x: F8, level: float = 0.95) -> list[Effect]:
    """Regress y[row] on x[row, covariate] and a constant by least squares: slopes with HC3 errors and Student's t."""
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
    effects = []
    for value, error in zip(slope[1:], se[1:], strict=True):
        chance = float(2 * t.sf(abs(value) / error, n - p)) if error > 0 else float(value == 0)
        effects.append(
            Effect(float(value), float(error), float(value - wide * error), float(value + wide * error), chance)
        )
    return effects


# ----------------------------------------------------------------
# Value of a verdict relative to a person's label: variances of two-phase estimates, prices, subsets of judges.
#     V = S^2 [(1 - R2) / n + R2 / N],   n people's labels, N judged tasks, R2: squared correlation of truth and verdict
#     best split of a budget:  n / N = sqrt((1 - R2) / R2 * c_judge / c_person)
#     a judge is worth paying where  c_judge / c_person < R2 / (1 + sqrt(1 - R2))^2
#
# Cochran (1977), Sampling Techniques, ch. 12.


ALL_SUBSETS = 10


def labels_per_task(r2: float, judge: float, person: float) -> float:
    """Optimal number of people's labels per judged task, given the prices of both.

    >>> round(labels_per_task(0.504, 0.5, 20.0), 4)
    0.1569
    """
    if r2 <= 0 or person <= 0:
        return float("inf")
    return float(np.sqrt((1 - r2) / r2 * judge / person))


def worth_up_to(r2: float) -> float:
    """Price of a judged task, in people's labels, up to which judging beats more labels.

    >>> round(worth_up_to(0.5), 2), round(worth_up_to(0.17), 3)
    (0.17, 0.047)
    """
    return float(r2 / (1 + np.sqrt(max(1 - r2, 0.0))) ** 2)


def best_variance(r2: float, judge: float, person: float, budget: float) -> float:
    """V / S^2 for the optimal split of a budget between a judge and people."""
    return float((np.sqrt((1 - r2) * person) + np.sqrt(r2 * judge)) ** 2 / budget)


def variance(r2: float, n: float, n_judged: float) -> float:
    """V / S^2 with n people's labels and n_judged judged tasks."""
    return (1 - r2) / n + r2 / n_judged


def squared_correlation(posterior: F8, truth: I8, times: F8 | None = None) -> float:
    """Squared correlation of the truth (as 0 and 1) and the posterior, over all classes."""
    w = np.ones(len(truth)) if times is None else times
    y = np.eye(posterior.shape[1])[truth]
    y = y - w @ y / w.sum()
    p = posterior - w @ posterior / w.sum()
    top = float((w[:, None] * y * p).sum())
    below = float((w[:, None] * y * y).sum() * (w[:, None] * p * p).sum())
    return max(top, 0.0) ** 2 / below if below > 1e-300 else 0.0


def subsets(n_judges: int) -> list[tuple[int, ...]]:
    """All non-empty subsets of the judges."""
    return [c for size in range(1, n_judges + 1) for c in combinations(range(n_judges), size)]


def pareto(cost: F8, loss: F8) -> npt.NDArray[np.bool_]:
    """Mark offers on the Pareto frontier: no other is as cheap with a lower loss."""
    out = np.zeros(len(cost), dtype=bool)
    best = np.inf
    for i in np.lexsort((loss, cost)):
        out[i] = loss[i] < best - 1e-12
        best = min(best, loss[i])
    return out


# ----------------------------------------------------------------
# The effective number of independent judges, from the correlation of their errors on gold.
#     R[i, j] = corr(judge i wrong, judge j wrong),   n_eff = 1 / (u' R u), u = 1/M   (Kish: M / (1 + (M - 1) mean R))
#
# Single pairs are noisy, so R is shrunk to the means of its blocks (same family, other family) as far as noise
# explains the spread within them: R* = (1 - lam) R + lam T, lam = sum var(r) / sum (r - t)^2. Kish (1965), Survey
# Sampling; shrinkage after Schäfer & Strimmer (2005), doi:10.2202/1544-6115.1175.

# Number of groups of gold tasks for the jackknife.
BLOCKS = 400
# Smallest numbers of errors and of gold tasks for the correlation of a pair.
MIN_ERRORS = 3
MIN_GOLD = 30


@dataclass(frozen=True)
class Correlation:
    """r[judge, judge] of errors, the variance of each entry, and the number of common tasks."""

    r: F8
    variance: F8
    common: F8


def kish(n_judges: int, rho: float) -> float:
    """Effective number of judges with mean correlation rho.

    >>> round(kish(9, 0.37), 4)
    2.2727
    """
    return n_judges / (1 + (n_judges - 1) * rho)


def error_correlation(wrong: F8, times: F8 | None = None) -> Correlation:
    """Correlations of wrong[task, judge] (shares of wrong verdicts, NaN if absent); times[task] weights the tasks."""
    w = np.ones(len(wrong)) if times is None else times
    is_present = np.isfinite(wrong)
    weights = is_present * w[:, None]
    n = weights.sum(axis=0)
    mean = np.where(is_present, wrong, 0.0).T @ w / np.maximum(n, 1e-12)
    z = np.where(is_present, wrong - mean, 0.0)
    sd = np.sqrt((z * z).T @ w / np.maximum(n, 1e-12))
    # Lower bound of the standard deviation, for judges with hardly any errors.
    z = z / np.maximum(sd, np.sqrt(0.25 / np.maximum(n, 1.0)))
    common = is_present.T @ weights
    size = np.maximum(common, 1.0)
    r = (z.T @ (z * w[:, None])) / size
    squares = z * z
    variance = ((squares.T @ (squares * w[:, None])) / size - r * r) / size
    np.fill_diagonal(r, 1.0)
    np.fill_diagonal(variance, 0.0)
    return Correlation(r, np.maximum(variance, 0.0), common)


def effective_number(r: F8) -> float:
    """1 / (u' R u) for equal weights u: M where errors are independent, 1 for copies.

    It is capped at M squared, as mutually exclusive errors could make it infinite.
    """
    m = len(r)
    return float(1 / max(float(r.mean()), 1 / m**2)) if m else float("nan")


def effective_interval(wrong: F8, level: float) -> tuple[float, float]:
    """Interval of the effective number over gold tasks: a jackknife of its logarithm.

    Bootstrap percentiles are too narrow with few errors (coverage .85 with 16 errors per judge; this interval .92), so
    the degrees of freedom of Student's t are the number of errors of the median judge minus one.
    """
    from scipy.special import stdtrit

    n = len(wrong)
    value = np.log(effective_number(error_correlation(wrong).r))
    if n < 3:
        return 1.0, float(wrong.shape[1])
    block = np.arange(n) * min(n, BLOCKS) // n  # the order of tasks by name is unrelated to their errors
    groups = int(block[-1]) + 1
    estimates = np.empty(groups)
    for i in range(groups):
        estimates[i] = np.log(effective_number(error_correlation(wrong, (block != i).astype(np.float64)).r))
    se = np.sqrt((groups - 1) / groups * ((estimates - estimates.mean()) ** 2).sum())
    wide = float(stdtrit(max(float(np.median(np.nansum(wrong, axis=0))) - 1, 3.0), (1 + level) / 2)) * se
    return float(np.exp(value - wide)), float(np.exp(value + wide))


def block_target(r: F8, family: I8) -> F8:
    """Mean of each pair's block: pairs within families, or pairs between them."""
    same = family[:, None] == family[None, :]
    off = ~np.eye(len(r), dtype=bool)
    out = np.eye(len(r))
    for block in (same & off, ~same):
        if block.any():
            out[block] = r[block].mean()
    return out


def shrunk(correlation: Correlation, family: I8) -> tuple[F8, float]:
    """R shrunk to its block means, and the amount of shrinkage (0: none, 1: complete)."""
    target = block_target(correlation.r, family)
    off = ~np.eye(len(target), dtype=bool)
    spread = float(((correlation.r - target)[off] ** 2).sum())
    lam = float(np.clip(correlation.variance[off].sum() / spread, 0.0, 1.0)) if spread > 0 else 1.0
    return np.asarray((1 - lam) * correlation.r + lam * target), lam


def unknown_pairs(wrong: F8, common: F8) -> npt.NDArray[np.bool_]:
    """unknown[i, j]: a judge of the pair has too few errors, or the pair too few common gold tasks."""
    few = np.nansum(wrong, axis=0) < MIN_ERRORS
    return np.asarray(few[:, None] | few[None, :] | (common < MIN_GOLD))
