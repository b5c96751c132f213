"""Sample sizes for guarantees and intervals, percentile scales, and fixed-sequence tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ...core.arrays import F8, I8, Mask


def no_error_seen(alpha: float, delta: float) -> int:
    """Gold labels in the accepted region that show an error below alpha if none of them is wrong.

    >>> [no_error_seen(a, 0.1) for a in (0.01, 0.02, 0.05, 0.1, 0.2)]
    [230, 114, 45, 22, 11]
    """
    return math.ceil(math.log(delta) / math.log1p(-alpha) - 1e-9)


def for_power(alpha: float, delta: float, error: float, power: float = 0.8) -> int:
    """Gold labels needed if the true share of errors is `error` and the test must pass with probability `power`.

    >>> for_power(0.05, 0.1, 0.0125)
    105
    """
    from scipy.stats import binom

    if not 0 <= error < alpha:
        raise ValueError(f"error must be from 0 to below {alpha}, got {error}")
    for n_errors in range(100_000):
        n = _fewest(alpha, delta, n_errors)
        if float(binom.cdf(n_errors, n, error)) >= power:
            return n
    raise ValueError("the error is too close to alpha")


def _fewest(alpha: float, delta: float, allowed: int) -> int:
    """Return the smallest number of gold labels of which `allowed` may be wrong."""
    from scipy.stats import binom

    low, high = allowed, max(2 * no_error_seen(alpha, delta), 4)
    while float(binom.cdf(allowed, high, alpha)) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if float(binom.cdf(allowed, middle, alpha)) <= delta else (middle, high)
    return high


def for_half_width(half: float, share: float, r2: float, level: float = 0.95) -> int:
    """Gold labels for an interval of ±`half` around a share, with verdicts that explain `r2` of it.

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
    """Highest price of a verdict, relative to a person's label, at which the judge still helps."""
    return float(r2 / (1 + np.sqrt(1 - r2)) ** 2)


# ----------------------------------------------------------------
# Order statistics. Numbers that differ by less than 10^-DIGITS count as equal.
# Code that needs ranks only (ladders, percentile scales) works on numbers in memory and on partitions on disk.

DIGITS = 9


class Ranks(Protocol):
    """Sorted rounded numbers; the lowest has rank 0."""

    @property
    def n(self) -> int:
        """How many there are."""

    def at(self, rank: I8) -> F8:
        """The number at each rank."""

    def below(self, value: F8) -> I8:
        """Number of values lower than each value."""


class Sorted:
    """Sorted numbers in memory."""

    def __init__(self, values: F8) -> None:
        self._up = np.sort(np.round(values, DIGITS))

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self._up)

    def at(self, rank: I8) -> F8:
        """The number at each rank."""
        return np.asarray(self._up[rank])

    def below(self, value: F8) -> I8:
        """Number of values lower than each value."""
        return np.searchsorted(self._up, value, side="left")


def count_up_to(ranks: Ranks, value: F8) -> I8:
    """Number of values not higher than each value, which must be one of the numbers."""
    return ranks.below(np.round(value + 10.0**-DIGITS, DIGITS))


# ----------------------------------------------------------------
# Orders of tasks by percentiles: the share of tasks whose confidence is not higher. Percentiles of different
# confidences are comparable; with two methods a task gets the lower of its two percentiles.

# Steps of a percentile scale in a certificate.
STEPS = 1000


@dataclass(frozen=True)
class PercentileScale:
    """Rising values of a confidence in the certified batch, and the percentile (`place`) of each."""

    value: list[float]
    place: list[float]

    def percentile(self, confidence: F8) -> F8:
        """Return the percentile of each confidence in that batch."""
        return np.interp(confidence, self.value, self.place)


def percentile_scale(confidence: F8) -> PercentileScale:
    """Return the percentile scale of these confidences, with at most a thousand steps; ties get the middle of
    theirs.
    """
    return percentile_scale_of(Sorted(confidence))


def percentile_scale_of(confidence: Ranks) -> PercentileScale:
    """Return the percentile scale of confidences that need not be in memory."""
    n = confidence.n
    value = np.unique(confidence.at(np.rint(np.linspace(0, n - 1, min(n, STEPS))).astype(np.int64)))
    place = (confidence.below(value) + count_up_to(confidence, value) + 1) / 2 / max(n, 1)
    return PercentileScale(value.tolist(), place.tolist())


def lowest_percentile(scales: Mapping[str, PercentileScale], views: Mapping[str, F8]) -> F8:
    """Return the lowest percentile of each task over several confidences."""
    return np.asarray(np.min([scale.percentile(views[name]) for name, scale in scales.items()], axis=0))


# ----------------------------------------------------------------
# Accept as many tasks as a guarantee allows: one test per step, down a ladder of confidences fixed beforehand.
# Step j holds the N_j most confident tasks, m_j of them checked, e_j of these wrong. It passes if so few errors have
# probability at most delta when more than a share alpha of its *unchecked* tasks are wrong:
#
#     p_j = P(Hypergeom(N_j, E0, m_j) <= e_j),   E0 = floor(alpha·(N_j - m_j)) + 1 + e_j
#
# The steps are tested in order until the first one fails, so several tests cost no more than one (fixed-sequence
# testing; Maurer, Hothorn & Lehmacher 1995; Learn then Test, Angelopoulos et al. 2021, arXiv:2110.01052).

LADDER_STEPS = 40


class SequentialTest(NamedTuple):
    """p[step], the first tested step (-1: no step has enough gold) and the last that passed (-1: none)."""

    p: F8
    start: int
    last: int


def ladder(confidence: F8, n_steps: int = LADDER_STEPS) -> tuple[F8, I8]:
    """Return (threshold, size) of each step, rising in size; tasks of equal confidence are in the same step."""
    return ladder_of(Sorted(confidence), n_steps)


def ladder_of(confidence: Ranks, n_steps: int = LADDER_STEPS) -> tuple[F8, I8]:
    """Return the ladder of confidences that need not be in memory."""
    n = confidence.n
    if not n:
        return np.empty(0), np.empty(0, dtype=np.int64)
    sizes = np.unique(np.ceil(n * np.arange(1, n_steps + 1) / n_steps).astype(np.int64))
    threshold = np.unique(confidence.at(n - sizes))[::-1]
    return threshold, n - confidence.below(threshold)


def counts_per_step(threshold: F8, confidence: F8, wrong: Mask) -> tuple[I8, I8]:
    """Return (m, e): how many checked tasks each step holds, and how many of them are wrong."""
    rounded = np.round(confidence, DIGITS)
    first = np.searchsorted(-threshold, -rounded, side="left")  # the first step that holds the task
    size = len(threshold)
    m = np.bincount(first, minlength=size + 1)[:size].cumsum()
    e = np.bincount(first, weights=wrong, minlength=size + 1)[:size].cumsum().astype(np.int64)
    return m.astype(np.int64), e


def step_p_values(size: I8, m: I8, e: I8, alpha: float) -> F8:
    """p-value of each step."""
    from scipy.stats import hypergeom

    n_wrong = np.floor(alpha * (size - m) + 1e-9).astype(np.int64) + 1 + e
    # More errors than tasks: no unchecked task is left that could violate the bound.
    impossible = n_wrong > size - (m - e)
    p = hypergeom.cdf(e, size, np.minimum(n_wrong, size), m)
    return np.asarray(np.where(impossible, 0.0, np.where(m > 0, p, 1.0)))


def fixed_sequence(size: I8, m: I8, e: I8, alpha: float, delta: float) -> SequentialTest:
    """Test the steps in order, starting at the first one at which a few errors would still pass.

    The start depends on the amount of gold only: c = min(floor(n·alpha/9), 4) errors, fewer if no step would pass with
    c.
    """
    p = step_p_values(size, m, e, alpha)
    if not len(size):
        return SequentialTest(p, -1, -1)
    start = -1
    for n_errors in range(min(int(m[-1] * alpha / 9 + 1e-9), 4), -1, -1):
        would_pass = step_p_values(size, m, np.minimum(n_errors, m), alpha) <= delta
        if would_pass.any():
            start = int(np.argmax(would_pass))
            break
    if start < 0:
        return SequentialTest(p, -1, -1)
    failed = np.flatnonzero(p[start:] > delta)
    last = start + (int(failed[0]) if len(failed) else len(p) - start) - 1
    return SequentialTest(p, start, last if last >= start else -1)


def accepted(order: F8, among: Mask, checked: Mask, wrong: Mask, alpha: float, delta: float) -> Mask | None:
    """Return the mask of the accepted tasks `among` these, given the checked ones; None if none are accepted."""
    threshold, size = ladder(order[among])
    m, e = counts_per_step(threshold, order[checked], wrong[checked])
    last = fixed_sequence(size, m, e, alpha, delta).last
    return None if last < 0 else np.asarray(among & (np.round(order, DIGITS) >= threshold[last]))


def fixed_sequence_all(n_tasks: int, n_gold: int, e: I8, alpha: float, delta: float) -> SequentialTest:
    """Test "wrongly accepted tasks are at most a share alpha of all tasks".

    Errors only grow with the steps, so the largest step that passes may be taken.
    """
    from scipy.stats import hypergeom

    n_wrong = min(int(np.floor(alpha * n_tasks + 1e-9)) + 1, n_tasks)
    p = np.asarray(hypergeom.cdf(e, n_tasks, n_wrong, n_gold))
    passed = np.flatnonzero(p <= delta)
    return SequentialTest(p, 0, int(passed[-1]) if len(passed) else -1)


def risk_control(n_gold: int, e: I8, alpha: float) -> SequentialTest:
    """Conformal risk control: the mean share of wrongly accepted tasks over drawings of gold is at most alpha.

    Angelopoulos et al. (2022), arXiv:2208.02814.
    """
    risk = (e + 1) / (n_gold + 1)
    passed = np.flatnonzero(risk <= alpha)
    return SequentialTest(risk, 0, int(passed[-1]) if len(passed) else -1)


def upper(e: I8, m: I8, delta: float) -> F8:
    """Clopper-Pearson upper bound of a share at risk delta, for display; 1 if nothing was checked."""
    from scipy.special import betaincinv

    e, m = np.asarray(e, dtype=float), np.asarray(m, dtype=float)
    has_limit = e < m
    limit = betaincinv(np.where(has_limit, e + 1, 1.0), np.where(has_limit, m - e, 1.0), 1 - delta)
    return np.asarray(np.where(has_limit, limit, 1.0))
