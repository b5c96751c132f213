"""Who answers at random, or against the tasks: each worker held against the crowd's own spread of abilities.

An ability is a number in units of the usual worker's: 1 is usual, 0 is somebody who does not look, below 0 is somebody
who turns the answers round. Honest abilities are log-normal; their middle and spread, and the shares of those who do
not look and of those who turn round, are not known, so all of a grid of them is averaged over, each by how well it
explains the whole crowd. What comes out is the posterior chance that a worker is of either sort: in a small crowd, or
where abilities lie far apart, nobody is sure to be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]

# Abilities at which likelihoods are given, the same number on either side of 0.
GRID = np.linspace(-2.4, 2.4, 97)
# Where the middle of the honest abilities may lie, their spread in logarithms, and how likely these are beforehand.
MIDDLES = np.exp(np.linspace(np.log(0.45), np.log(1.5), 11))
SPREADS, SPREAD_PRIOR = (0.12, 0.2, 0.3, 0.45, 0.65), (0.3, 0.3, 0.25, 0.1, 0.05)
# Some honest workers are far from the others: this share, with this spread.
STRAY, STRAY_SPREAD = 0.02, 0.9
# Shares of the crowd who do not look and who turn round, and how likely these are beforehand.
IDLE, IDLE_PRIOR = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45), (0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
TURNED, TURNED_PRIOR = (0.0, 0.03, 0.1, 0.2), (0.6, 0.2, 0.1, 0.1)
# Never more of both than this: then nobody could say who is right.
MOST = 0.6
# Workers at least, to speak of a crowd, and the chance from which a worker is called by the name.
FEWEST, SURE = 3, 0.98
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Chances:
    """Of each worker: the chance that they do not look, and that they turn the answers round."""

    random: F8
    reversed: F8

    @property
    def either(self) -> F8:
        """The chance of one or the other."""
        return np.minimum(self.random + self.reversed, 1.0)

    def sure(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """(random, reversed): who surely is one or the other, by the likelier name."""
        held = self.either >= SURE
        turned = held & (self.reversed > self.random)
        return held & ~turned, turned


def nobody(n_workers: int) -> Chances:
    """Nothing to hold against anybody."""
    return Chances(np.zeros(n_workers), np.zeros(n_workers))


def chances(loglik: F8, idle: F8, known: npt.NDArray[np.bool_]) -> Chances:
    """From loglik[worker, ability of GRID] and the log-likelihood of each worker's answers had they not looked; those
    who are not `known` have too few answers to be judged, or to tell of the crowd."""
    out = nobody(len(idle))
    if known.sum() < FEWEST:
        return out
    top = np.maximum(loglik[known].max(axis=1), idle[known])[:, None]
    each, nothing = np.exp(loglik[known] - top), np.exp(idle[known] - top[:, 0])
    honest, prior = _densities()
    out.random[known], out.reversed[known] = chances_of(nothing, each @ honest[::-1], each @ honest, prior)
    return out


def chances_of(nothing: F8, turned: F8 | None, good: F8, prior: F8) -> tuple[F8, F8]:
    """The chances that workers do not look and that they turn round, from the likelihood of each one's answers had they
    not looked, and [worker, hypothesis] had they turned round (None: answers have no opposite) or been honest."""
    idle, good = np.maximum(nothing, _TINY)[:, None], np.maximum(good, _TINY)
    round_, sorts = np.zeros_like(good), [(0.0, 1.0)]
    if turned is not None:
        round_, sorts = np.maximum(turned, _TINY), list(zip(TURNED, TURNED_PRIOR, strict=True))
    weights, shares = [], []
    for i, p in zip(IDLE, IDLE_PRIOR, strict=True):
        for t, q in sorts:
            if i + t < MOST:
                shares.append((i, t))
                whole = np.log(_mixed(idle, round_, good, i, t)).sum(axis=0)
                weights.append(whole + np.log(p * q) + prior)
    weight = np.exp(np.array(weights) - np.max(weights))
    weight /= weight.sum()
    random, against = np.zeros(len(good)), np.zeros(len(good))
    for w, (i, t) in zip(weight, shares, strict=True):
        whole = _mixed(idle, round_, good, i, t)
        random += (i * idle / whole) @ w
        against += (t * round_ / whole) @ w
    return random, against


def _mixed(nothing: F8, turned: F8, good: F8, i: float, t: float) -> F8:
    return np.asarray(np.maximum(i * nothing + t * turned + (1 - i - t) * good, _TINY))


def _densities() -> tuple[F8, F8]:
    """honest[ability, hypothesis] and the log prior of the hypotheses."""
    found, prior = [], []
    for middle in MIDDLES:
        stray = _lognormal(middle, STRAY_SPREAD)
        for spread, p in zip(SPREADS, SPREAD_PRIOR, strict=True):
            found.append((1 - STRAY) * _lognormal(middle, spread) + STRAY * stray)
            prior.append(np.log(p))
    return np.array(found).T, np.array(prior)


def _lognormal(middle: float, spread: float) -> F8:
    positive = np.maximum(GRID, 1e-9)
    density = np.exp(-0.5 * ((np.log(positive) - np.log(middle)) / spread) ** 2) / positive
    density = np.where(GRID > 1e-9, density, 0.0)
    return np.asarray(density / density.sum())
