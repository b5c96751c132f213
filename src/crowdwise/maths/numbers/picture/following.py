"""Who gives numbers without looking, or upside down? Each worker's answers are weighed under two laws:

    honest   answer ~ N(level + slope · (what the others make of the task), spread²)
    idle     answer ~ N(level, spread²), whatever the task

An upside-down worker is honest with a slope below 0. Nothing is held against a level. Slopes and spreads of honest
workers are log-normal; their middles and how far they lie apart are learnt from the crowd, so that somebody whose
answers scatter no more than the crowd's, and yet do not follow, is found sooner than by a correlation alone.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import logsumexp

from ...alike.population import FEWEST, Chances, chances_of, nobody
from ..rows import F8, Mask, Rows

# Slopes, in units of the usual worker's; spreads, as the logarithm of their ratio to that of the answers themselves.
SLOPES = np.linspace(-2.0, 2.0, 41)
SPREADS = np.linspace(-2.5, 1.0, 15)
# Middles of the honest workers' slopes, how far they lie apart and how likely that is; the same of spreads.
MIDDLES, APART, APART_PRIOR = (0.65, 0.8, 1.0, 1.2), (0.1, 0.2, 0.35, 0.6), (0.3, 0.3, 0.25, 0.15)
SPREAD_MIDDLES, SPREADS_APART = (-1.6, -1.2, -0.9, -0.6, -0.3, 0.0), (0.25, 0.5)
# Some honest workers have slopes far from the others': this share, so far apart.
STRAY, STRAY_APART = 0.02, 0.6
# How far the spreads of idle workers lie from that of all answers: most of them, and the rest.
IDLE_APART = ((0.8, 0.35), (0.2, 0.8))
# Where the usual worker stands among all, by slope.
USUAL = 0.7
# Answers further from a worker's median than so many of their spreads are taken for so far: one slip is no law.
FAR = 3.0


def following(rows: Rows, others: F8, doubt: F8, tested: Mask) -> Chances:
    """From the others' estimate of each row's task and its variance; those who are not `tested` have no chances."""
    out = nobody(rows.n_workers)
    if tested.sum() < FEWEST or _usual_slope(*_sums(rows, others, tested)[1:]) <= 0:
        return out  # too few, or a crowd that goes with nobody
    honest, idle = _evidence(rows, others, doubt, tested)
    top = np.maximum(honest.max(axis=(1, 2)), idle)
    each, m = np.exp(honest - top[:, None, None]), len(idle)
    law, prior = _population()
    good, turned = each.reshape(m, -1) @ law, each[:, ::-1].reshape(m, -1) @ law
    out.random[tested], out.reversed[tested] = chances_of(np.exp(idle - top), turned, good, prior)
    return out


def _evidence(rows: Rows, others: F8, doubt: F8, tested: Mask) -> tuple[F8, F8]:
    """Log-likelihoods [worker, slope, spread] of the honest law, and [worker] of the idle one, of those tested."""
    n = np.maximum(rows.per_worker, 1.0)
    xx, xy, yy = _sums(rows, others, tested)
    unit = _usual_slope(xy, yy)
    xy, yy = unit * xy, unit**2 * yy
    unknown = unit**2 * (rows.worker_sum(np.nan_to_num(doubt)) / n)[tested]
    free = (n - 1)[tested]
    usual = np.log(max(float(np.median(xx / free)), 1e-12)) / 2
    spread = np.exp(2 * (SPREADS + usual))
    # The others' doubt about a task is seen in the answers as far as these follow it.
    whole = spread + (SLOPES**2 * unknown[:, None])[:, :, None]
    left = xx[:, None] - 2 * SLOPES * xy[:, None] + SLOPES**2 * yy[:, None]
    honest = -0.5 * free[:, None, None] * np.log(whole) - left[:, :, None] / (2 * whole)
    idle = -0.5 * free[:, None] * np.log(spread) - xx[:, None] / (2 * spread)
    law = sum(share * _normal(0.0, apart) for share, apart in IDLE_APART)
    return np.asarray(honest), np.asarray(logsumexp(idle + np.log(law), axis=1))


def _sums(rows: Rows, others: F8, tested: Mask) -> tuple[F8, F8, F8]:
    """Squares and products of answers and the others' estimates around each worker's means: xx, xy, yy."""
    n = np.maximum(rows.per_worker, 1.0)
    x, y = (each - (rows.worker_sum(each) / n)[rows.worker] for each in (_tame(rows), others))
    xx, xy, yy = (rows.worker_sum(each)[tested] for each in (x * x, x * y, y * y))
    return xx, xy, yy


def _usual_slope(xy: F8, yy: F8) -> float:
    """A little above the middle, as some of the crowd may not look. Where nobody follows it is small, and then every
    slope is as likely as another."""
    slope = xy[yy > 0] / yy[yy > 0]
    return max(float(np.quantile(slope, USUAL)), 0.0) if len(slope) else 0.0


def _tame(rows: Rows) -> F8:
    """The answers, those that are far from their worker's median brought nearer."""
    middle = _median(rows, rows.value)
    gap = rows.value - middle[rows.worker]
    wide = 1.4826 * _median(rows, np.abs(gap))
    wide = np.maximum(wide, 0.3 * float(np.median(wide[rows.per_worker > 0])))
    limit = np.where(wide > 0, FAR * wide, np.inf)[rows.worker]
    return np.asarray(rows.value + np.clip(gap, -limit, limit) - gap)


def _median(rows: Rows, value: F8) -> F8:
    """Of each worker's rows."""
    order = np.lexsort((value, rows.worker))
    n = np.bincount(rows.worker, minlength=rows.n_workers)
    start = np.cumsum(n) - n
    low, high = (np.minimum(start + at, len(value) - 1) for at in (np.maximum(n - 1, 0) // 2, n // 2))
    return np.asarray(np.where(n > 0, (value[order[low]] + value[order[high]]) / 2, 0.0))


def _population() -> tuple[F8, F8]:
    """law[slope and spread, hypothesis] and the log prior of the hypotheses."""
    found, prior = [], []
    slopes = zip(APART, APART_PRIOR, strict=True)
    for (apart, chance), middle, at, wide in product(slopes, MIDDLES, SPREAD_MIDDLES, SPREADS_APART):
        usual = (1 - STRAY) * np.outer(_lognormal(middle, apart), _normal(at, wide))
        far = STRAY * np.outer(_lognormal(middle, STRAY_APART), _normal(at, 2 * wide))
        found.append((usual + far).ravel())
        prior.append(np.log(chance))
    return np.array(found).T, np.array(prior)


def _normal(middle: float, apart: float) -> F8:
    density = np.exp(-0.5 * ((SPREADS - middle) / apart) ** 2)
    return np.asarray(density / density.sum())


def _lognormal(middle: float, apart: float) -> F8:
    positive = np.maximum(SLOPES, 1e-9)
    density = np.exp(-0.5 * ((np.log(positive) - np.log(middle)) / apart) ** 2) / positive
    density = np.where(SLOPES > 1e-9, density, 0.0)
    return np.asarray(density / density.sum())
