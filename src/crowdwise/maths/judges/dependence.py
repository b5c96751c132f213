"""How many independent voices do judges count for? The correlation of their errors on gold says it.

    R[i, j] = corr(judge i wrong, judge j wrong),   n_eff = 1 / (u' R u), u = 1/M   (Kish: M / (1 + (M - 1) mean R))

Single pairs are noisy, so R is shrunk to the means of its blocks (same family, other family) as far as noise explains
the spread within them: R* = (1 - lam) R + lam T, lam = sum var(r) / sum (r - t)^2.
Kish (1965), Survey Sampling; shrinkage after Schäfer & Strimmer (2005), doi:10.2202/1544-6115.1175.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Groups of gold tasks that are left out in turn.
BLOCKS = 400
# Fewer errors, or fewer gold tasks, say nothing about a pair.
MIN_ERRORS = 3
MIN_GOLD = 30


@dataclass(frozen=True)
class Correlation:
    """r[judge, judge] of errors, the variance of each entry, and on how many common tasks it rests."""

    r: F8
    variance: F8
    common: F8


def kish(n_judges: int, rho: float) -> float:
    """Voices that judges with a mean correlation count for.

    >>> round(kish(9, 0.37), 4)
    2.2727
    """
    return n_judges / (1 + (n_judges - 1) * rho)


def error_correlation(wrong: F8, times: F8 | None = None) -> Correlation:
    """Correlations of wrong[task, judge] (shares of wrong verdicts, NaN where absent); times[task] counts a task."""
    w = np.ones(len(wrong)) if times is None else times
    there = np.isfinite(wrong)
    weigh = there * w[:, None]
    n = weigh.sum(axis=0)
    mean = np.where(there, wrong, 0.0).T @ w / np.maximum(n, 1e-12)
    z = np.where(there, wrong - mean, 0.0)
    sd = np.sqrt((z * z).T @ w / np.maximum(n, 1e-12))
    # A judge with hardly an error has no spread to speak of: half a chance in n is the least.
    z = z / np.maximum(sd, np.sqrt(0.25 / np.maximum(n, 1.0)))
    common = there.T @ weigh
    size = np.maximum(common, 1.0)
    r = (z.T @ (z * w[:, None])) / size
    squares = z * z
    variance = ((squares.T @ (squares * w[:, None])) / size - r * r) / size
    np.fill_diagonal(r, 1.0)
    np.fill_diagonal(variance, 0.0)
    return Correlation(r, np.maximum(variance, 0.0), common)


def effective_number(r: F8) -> float:
    """1 / (u' R u) for equal weights u: M where errors are independent, 1 for copies.

    Errors that exclude each other could make it endless; M squared is where it ends.
    """
    m = len(r)
    return float(1 / max(float(r.mean()), 1 / m**2)) if m else float("nan")


def effective_interval(wrong: F8, level: float) -> tuple[float, float]:
    """Interval of the effective number over gold tasks: a jackknife of its logarithm.

    Percentiles of a bootstrap are too narrow where errors are few (they cover .85 with 16 errors a judge, this .92), so
    Student's t has as many degrees of freedom as the median judge has errors, less one.
    """
    from scipy.special import stdtrit

    n = len(wrong)
    value = np.log(effective_number(error_correlation(wrong).r))
    if n < 3:
        return 1.0, float(wrong.shape[1])
    block = np.arange(n) * min(n, BLOCKS) // n  # tasks in the order of their names, which says nothing of their errors
    groups = int(block[-1]) + 1
    found = np.empty(groups)
    for i in range(groups):
        found[i] = np.log(effective_number(error_correlation(wrong, (block != i).astype(np.float64)).r))
    se = np.sqrt((groups - 1) / groups * ((found - found.mean()) ** 2).sum())
    wide = float(stdtrit(max(float(np.median(np.nansum(wrong, axis=0))) - 1, 3.0), (1 + level) / 2)) * se
    return float(np.exp(value - wide)), float(np.exp(value + wide))


def block_target(r: F8, family: I8) -> F8:
    """Each pair's mean over the pairs of the same sort: within families, or between them."""
    same = family[:, None] == family[None, :]
    off = ~np.eye(len(r), dtype=bool)
    out = np.eye(len(r))
    for block in (same & off, ~same):
        if block.any():
            out[block] = r[block].mean()
    return out


def shrunk(found: Correlation, family: I8) -> tuple[F8, float]:
    """R shrunk to its block means, and how far (0: not at all, 1: all the way)."""
    target = block_target(found.r, family)
    off = ~np.eye(len(target), dtype=bool)
    spread = float(((found.r - target)[off] ** 2).sum())
    lam = float(np.clip(found.variance[off].sum() / spread, 0.0, 1.0)) if spread > 0 else 1.0
    return np.asarray((1 - lam) * found.r + lam * target), lam


def unknown_pairs(wrong: F8, common: F8) -> npt.NDArray[np.bool_]:
    """unknown[i, j]: a judge of the pair has too few errors, or the two too few common gold tasks."""
    few = np.nansum(wrong, axis=0) < MIN_ERRORS
    return np.asarray(few[:, None] | few[None, :] | (common < MIN_GOLD))
