"""Accept as many tasks as a promise allows: one test a rung, down a ladder of confidences fixed beforehand.

Rung j holds the N_j most confident tasks, m_j of them checked, e_j of these wrong. It passes where so few errors have
probability at most delta if more than a share alpha of its *unchecked* tasks were wrong:

    p_j = P(Hypergeom(N_j, E0, m_j) <= e_j),   E0 = floor(alpha·(N_j - m_j)) + 1 + e_j

The rungs are tested in order and the walk ends at the first that fails, so many tests cost no more than one (fixed
sequence testing; Maurer, Hothorn & Lehmacher 1995; Learn then Test, Angelopoulos et al. 2021, arXiv:2110.01052).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .ranks import DIGITS as DIGITS
from .ranks import Ranks, Sorted

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
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
