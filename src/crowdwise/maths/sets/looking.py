"""Who names classes without looking at the task? Each worker's answers are weighed under two laws:

    honest   a class that holds is named with log odds hit[class] + s + v, any other with alarm[class] + t + v
    idle     whatever the task, a class is named with log odds named[class] + u + v

s, t and u are the worker's, v their habit with one class, the same in both laws: who names a class often, or always, is
not idle for that. Whether a class holds is what everybody else says of it. The crowd's hit, alarm and named, how far
workers lie apart and how many are idle come from the crowd itself. Beliefs go into bins, so that the cost of a fit does
not grow with the number of answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit, logsumexp

from ..alike.population import chances_of

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# In log odds: bins of beliefs; where a worker may stand beside the crowd; habits with a class and how likely they are,
# most small, a few so large that a class is named always or never.
EDGES = np.arange(-6.0, 7.0)
SHIFT = np.linspace(-4.2, 4.2, 15)
HABITS, HABIT_PRIOR = (-4.0, -0.8, 0.0, 0.8, 4.0), (0.01, 0.17, 0.64, 0.17, 0.01)
# How far honest workers may lie apart in s and in t, and how likely that is; some are far from the others.
SPREADS, SPREAD_PRIOR = (0.3, 0.6, 1.0, 1.5), (0.25, 0.3, 0.3, 0.15)
STRAY, STRAY_SPREAD = 0.02, 2.0
# How far idle workers lie apart in u.
IDLE_SPREAD = 0.7
# The crowd's rates of a class are drawn to those of all classes by so many cells; rounds of rates and chances, fewer
# where no chance moves by more than this; passes of a round.
HELD, ROUNDS, SETTLED, PASSES = 2.0, 6, 1e-3, 15
TINY = 1e-4


@dataclass(frozen=True, eq=False)
class Cells:
    """Answers in bins: yes and no [class, worker, bin], and the mean belief of each bin."""

    yes: F8
    no: F8
    belief: F8


def cells_of(worker: I8, belief: F8, named: Mask, offered: Mask, n_workers: int) -> Cells:
    """From belief, named and offered [row, class]."""
    belief = np.clip(belief, TINY, 1 - TINY)
    at = np.searchsorted(EDGES, logit(belief))
    n, k = len(EDGES) + 1, belief.shape[1]
    place = worker[:, None] * n + at
    yes, no = (
        np.array([np.bincount(place[:, c], use[:, c], n_workers * n) for c in range(k)]).reshape(k, n_workers, n)
        for use in ((named & offered).astype(np.float64), (~named & offered).astype(np.float64))
    )
    total = np.bincount(at.ravel(), offered.ravel(), n)
    mean = np.bincount(at.ravel(), (belief * offered).ravel(), n) / np.maximum(total, 1)
    return Cells(yes, no, np.where(total > 0, mean, 0.5))


def idle_chances(cells: Cells, known: Mask) -> F8:
    """Of each worker, the chance that they do not look; those who are not `known` have 0, and tell nothing."""
    found = np.where(known, 0.1, 1.0)
    for _ in range(ROUNDS):
        hit, alarm = _rates(cells, 1 - found)
        honest, idle = _evidence(cells, hit, alarm, _named(cells, known))
        last, found = found, np.where(known, _chances(honest, idle, known), 1.0)
        if np.abs(found - last).max(initial=0.0) < SETTLED:
            break
    return np.where(known, found, 0.0)


def _rates(cells: Cells, trust: F8) -> tuple[F8, F8]:
    """The crowd's log odds of naming a class that holds, and one that does not, by EM over what holds."""
    yes, no = (np.einsum("kwb,w->kb", each, trust) for each in (cells.yes, cells.no))
    q = cells.belief
    hit, alarm = np.full((len(yes), 1), 0.5), np.full((len(yes), 1), 0.05)
    for _ in range(PASSES):
        hits = yes * q * hit / (q * hit + (1 - q) * alarm)
        misses = no * q * (1 - hit) / (q * (1 - hit) + (1 - q) * (1 - alarm))
        hit, alarm = (_held(one, two) for one, two in ((hits, misses), (yes - hits, no - misses)))
    return logit(np.clip(hit, 0.01, 0.99))[:, 0], logit(np.clip(alarm, 5e-4, 0.95))[:, 0]


def _held(yes: F8, no: F8) -> F8:
    """The share of yes of each class, drawn to that of all classes."""
    share = yes.sum() / max(float(yes.sum() + no.sum()), TINY)
    one, two = yes.sum(axis=1), no.sum(axis=1)
    return np.asarray((one + HELD * share) / (one + two + HELD))[:, None]


def _named(cells: Cells, known: Mask) -> F8:
    """The crowd's log odds of naming each class, whatever the task."""
    found = _held(cells.yes[:, known].sum(axis=1), cells.no[:, known].sum(axis=1))
    return np.asarray(logit(np.clip(found[:, 0], 2e-3, 0.98)))


def _evidence(cells: Cells, hit: F8, alarm: F8, named: F8) -> tuple[F8, F8]:
    """Log-likelihoods [worker, s, t] and [worker, u], summed over classes, each averaged over habits."""
    m, g, q = cells.yes.shape[1], len(SHIFT), cells.belief[:, None, None]
    honest, idle = np.zeros((m, g * g)), np.zeros((m, g))
    for c, (yes, no) in enumerate(zip(cells.yes, cells.no, strict=True)):
        looks, blind = [], []
        ones, zeros = yes.sum(axis=1)[:, None], no.sum(axis=1)[:, None]
        for habit, prior in zip(HABITS, HABIT_PRIOR, strict=True):
            of_true, of_false = expit(hit[c] + SHIFT + habit)[:, None], expit(alarm[c] + SHIFT + habit)
            p = np.clip(q * of_true + (1 - q) * of_false, TINY, 1 - TINY).reshape(len(q), -1)
            looks.append(yes @ np.log(p) + no @ np.log1p(-p) + np.log(prior))
            r = np.clip(expit(named[c] + SHIFT + habit), TINY, 1 - TINY)
            blind.append(ones * np.log(r) + zeros * np.log1p(-r) + np.log(prior))
        honest += logsumexp(looks, axis=0)
        idle += logsumexp(blind, axis=0)
    return honest.reshape(m, g, g), idle


def _normal(spread: float) -> F8:
    density = np.exp(-0.5 * (SHIFT / spread) ** 2)
    return np.asarray(density / density.sum())


def _chances(honest: F8, idle: F8, known: Mask) -> F8:
    blind = logsumexp(idle + np.log(_normal(IDLE_SPREAD)), axis=1)
    top = np.maximum(honest.max(axis=(1, 2)), blind)
    each = np.exp(honest - top[:, None, None])
    far = each @ _normal(STRAY_SPREAD) @ _normal(STRAY_SPREAD)
    good, prior = [], []
    for s, p in zip(SPREADS, SPREAD_PRIOR, strict=True):
        for t, q in zip(SPREADS, SPREAD_PRIOR, strict=True):
            good.append((1 - STRAY) * (each @ _normal(t) @ _normal(s)) + STRAY * far)
            prior.append(np.log(p * q))
    out = np.zeros(len(blind))
    found = chances_of(np.exp(blind - top)[known], None, np.stack(good, axis=1)[known], np.array(prior))
    out[known] = found[0]
    return out
