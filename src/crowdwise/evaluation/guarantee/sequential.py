"""How many gold labels a promise or an interval needs, before any is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt


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


# ----------------------------------------------------------------
# Numbers of many tasks by their rank. Numbers that differ by less than 10^-DIGITS are one number.
# What asks for ranks alone (ladders, scales of places) works on numbers in memory and on numbers in parts on disk.

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
DIGITS = 9


class Ranks(Protocol):
    """Rounded numbers, the lowest has rank 0."""

    @property
    def n(self) -> int:
        """How many there are."""

    def at(self, rank: I8) -> F8:
        """The number at each rank."""

    def below(self, value: F8) -> I8:
        """How many are lower than each value."""


class Sorted:
    """Numbers in memory."""

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
        """How many are lower than each value."""
        return np.searchsorted(self._up, value, side="left")


def up_to(ranks: Ranks, value: F8) -> I8:
    """How many are not higher than each value, which is one of the numbers."""
    return ranks.below(np.round(value + 10.0**-DIGITS, DIGITS))


# ----------------------------------------------------------------
# Orders of tasks by places: where a task stands among all tasks by a confidence, as a share of tasks no surer than it.
# Places of different confidences can be compared; a task that two methods see stands at the lower of its two places.

# So many steps a scale of confidences has in a certificate.
STEPS = 1000


@dataclass(frozen=True)
class Scale:
    """Values of a confidence in the certified batch, rising, and the place of each."""

    value: list[float]
    place: list[float]

    def of(self, confidence: F8) -> F8:
        """The place that such a confidence had there."""
        return np.interp(confidence, self.value, self.place)


def scale_of(confidence: F8) -> Scale:
    """At most a thousand steps of the places of these confidences; ties share the middle of theirs."""
    return scale_by(Sorted(confidence))


def scale_by(confidence: Ranks) -> Scale:
    """The same of confidences that need not be in memory."""
    n = confidence.n
    value = np.unique(confidence.at(np.rint(np.linspace(0, n - 1, min(n, STEPS))).astype(np.int64)))
    place = (confidence.below(value) + up_to(confidence, value) + 1) / 2 / max(n, 1)
    return Scale(value.tolist(), place.tolist())


def lowest_place(scales: Mapping[str, Scale], views: Mapping[str, F8]) -> F8:
    """The lowest place of each task over several confidences."""
    return np.asarray(np.min([scale.of(views[name]) for name, scale in scales.items()], axis=0))


# ----------------------------------------------------------------
# Accept as many tasks as a promise allows: one test a rung, down a ladder of confidences fixed beforehand.
# Rung j holds the N_j most confident tasks, m_j of them checked, e_j of these wrong. It passes where so few errors
# have probability at most delta if more than a share alpha of its *unchecked* tasks were wrong:
#
#     p_j = P(Hypergeom(N_j, E0, m_j) <= e_j),   E0 = floor(alpha·(N_j - m_j)) + 1 + e_j
#
# The rungs are tested in order and the walk ends at the first that fails, so many tests cost no more than one (fixed
# sequence testing; Maurer, Hothorn & Lehmacher 1995; Learn then Test, Angelopoulos et al. 2021, arXiv:2110.01052).

Mask = npt.NDArray[np.bool_]
RUNGS = 40


class Walk(NamedTuple):
    """p[rung], the rung where the walk began (-1: no rung has gold enough) and the last that passed (-1: none)."""

    p: F8
    start: int
    last: int


def ladder(confidence: F8, rungs: int = RUNGS) -> tuple[F8, I8]:
    """(threshold, size) of each rung, rising in size; tasks of one confidence stand on one rung together."""
    return ladder_of(Sorted(confidence), rungs)


def ladder_of(confidence: Ranks, rungs: int = RUNGS) -> tuple[F8, I8]:
    """The same of confidences that need not be in memory."""
    n = confidence.n
    if not n:
        return np.empty(0), np.empty(0, dtype=np.int64)
    wanted = np.unique(np.ceil(n * np.arange(1, rungs + 1) / rungs).astype(np.int64))
    threshold = np.unique(confidence.at(n - wanted))[::-1]
    return threshold, n - confidence.below(threshold)


def on_rungs(threshold: F8, confidence: F8, wrong: Mask) -> tuple[I8, I8]:
    """(m, e): how many of these checked tasks stand on each rung, and how many of them are wrong."""
    rounded = np.round(confidence, DIGITS)
    first = np.searchsorted(-threshold, -rounded, side="left")  # the first rung that holds the task
    size = len(threshold)
    m = np.bincount(first, minlength=size + 1)[:size].cumsum()
    e = np.bincount(first, weights=wrong, minlength=size + 1)[:size].cumsum().astype(np.int64)
    return m.astype(np.int64), e


def rung_p(size: I8, m: I8, e: I8, alpha: float) -> F8:
    """p of each rung."""
    from scipy.stats import hypergeom

    bad = np.floor(alpha * (size - m) + 1e-9).astype(np.int64) + 1 + e
    # More wrong than there are: no unchecked task is left that could break the promise.
    sure = bad > size - (m - e)
    p = hypergeom.cdf(e, size, np.minimum(bad, size), m)
    return np.asarray(np.where(sure, 0.0, np.where(m > 0, p, 1.0)))


def walk(size: I8, m: I8, e: I8, alpha: float, delta: float) -> Walk:
    """Begin at the first rung at which a few errors would still pass, go on while rungs pass.

    Where to begin is fixed by numbers of gold alone: c = min(floor(n·alpha/9), 4) errors, fewer where no rung would
    pass with c.
    """
    p = rung_p(size, m, e, alpha)
    if not len(size):
        return Walk(p, -1, -1)
    start = -1
    for few in range(min(int(m[-1] * alpha / 9 + 1e-9), 4), -1, -1):
        would = rung_p(size, m, np.minimum(few, m), alpha) <= delta
        if would.any():
            start = int(np.argmax(would))
            break
    if start < 0:
        return Walk(p, -1, -1)
    failed = np.flatnonzero(p[start:] > delta)
    last = start + (int(failed[0]) if len(failed) else len(p) - start) - 1
    return Walk(p, start, last if last >= start else -1)


def accepted(order: F8, among: Mask, checked: Mask, wrong: Mask, alpha: float, delta: float) -> Mask | None:
    """Which of the tasks `among` are accepted, in this order, by the checked ones of them; None where none are."""
    threshold, size = ladder(order[among])
    m, e = on_rungs(threshold, order[checked], wrong[checked])
    last = walk(size, m, e, alpha, delta).last
    return None if last < 0 else np.asarray(among & (np.round(order, DIGITS) >= threshold[last]))


def walk_all(n_tasks: int, n_gold: int, e: I8, alpha: float, delta: float) -> Walk:
    """The same for "wrongly accepted among all tasks at most alpha": errors only grow with the rungs, and so the
    largest rung that passes may be taken."""
    from scipy.stats import hypergeom

    bad = min(int(np.floor(alpha * n_tasks + 1e-9)) + 1, n_tasks)
    p = np.asarray(hypergeom.cdf(e, n_tasks, bad, n_gold))
    passed = np.flatnonzero(p <= delta)
    return Walk(p, 0, int(passed[-1]) if len(passed) else -1)


def walk_mean(n_gold: int, e: I8, alpha: float) -> Walk:
    """Conformal risk control: the mean of wrongly accepted among all tasks, over many drawings of gold, is at most
    alpha. Angelopoulos et al. (2022), arXiv:2208.02814."""
    risk = (e + 1) / (n_gold + 1)
    passed = np.flatnonzero(risk <= alpha)
    return Walk(risk, 0, int(passed[-1]) if len(passed) else -1)


def upper(e: I8, m: I8, delta: float) -> F8:
    """Clopper-Pearson's upper end of a share at risk delta, for showing; 1 where nothing was checked."""
    from scipy.special import betaincinv

    e, m = np.asarray(e, dtype=float), np.asarray(m, dtype=float)
    inside = e < m
    found = betaincinv(np.where(inside, e + 1, 1.0), np.where(inside, m - e, 1.0), 1 - delta)
    return np.asarray(np.where(inside, found, 1.0))
