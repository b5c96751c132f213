"""Likelihoods of abilities: from yes and no beside what the usual worker would say, or from a mean and its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# ----------------------------------------------------------------
# Who answers at random, or against the tasks: each worker held against the crowd's own spread of abilities.
# An ability is a number in units of the usual worker's: 1 is usual, 0 is somebody who does not look, below 0 is
# somebody who turns the answers round. Honest abilities are log-normal; their middle and spread, and the shares of
# those who do not look and of those who turn round, are not known, so all of a grid of them is averaged over, each by
# how well it explains the whole crowd. What comes out is the posterior chance that a worker is of either sort: in a
# small crowd, or where abilities lie far apart, nobody is sure to be.

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


I8 = npt.NDArray[np.integer]
# Answers of a worker that are looked at, at most: so many tell enough.
MOST_ROWS = 300
# Chances of single answers are kept off 0 and 1 by this much; workers lean to yes or no by so much in log odds; and
# the share of those who do not look that toss an even coin, others having any habit.
EDGE, LEAN, COIN = 0.02, 0.4, 0.95
# The same of workers whose ability is a slope: how far they lean, and how often a hand slips.
SIDE, SLIP = 0.2, 0.01
# Rows whose errors the crowd's mean error stands for, where a worker's own rows are few.
HELD = 8.0


def by_answers(worker: I8, yes: F8, usual: F8, habit: F8, n_workers: int, lean: float = LEAN) -> F8:
    """loglik[worker, ability]: `yes` is 1 or 0, `usual` the chance that the usual worker says yes to that very
    question, `habit` the crowd's chance of yes whatever the question. With ability a the chance is
    (1 - a) habit + a usual, moved in log odds by how far a worker leans (sd `lean`), which is averaged over."""
    said = yes > 0.5
    node = np.sqrt(3) * lean
    out = np.empty((n_workers, len(GRID)))
    for j, ability in enumerate(GRID):
        p = np.clip((1 - ability) * habit + ability * usual, EDGE, 1 - EDGE)
        plain = np.bincount(worker, np.log(np.where(said, p, 1 - p)), n_workers)
        parts = [np.log(2 / 3) + plain]
        for shift in (-node, node):
            # s(logit p + shift) is p e^shift / (1 + p (e^shift - 1)).
            moved = np.bincount(worker, shift * said - np.log1p(p * np.expm1(shift)), n_workers)
            parts.append(np.log(1 / 6) + plain + moved)
        out[:, j] = np.logaddexp.reduce(parts, axis=0)
    return out


def by_slopes(worker: I8, yes: F8, odds: F8, n_workers: int) -> F8:
    """loglik[worker, ability] where ability a multiplies `odds`, the log odds with which the usual worker says yes to
    that very question: the law of scores and of places. Workers lean to yes or no by SIDE, which is averaged over; one
    answer in a hundred is a slip."""
    said = yes > 0.5
    node = np.sqrt(3) * SIDE
    out = np.empty((n_workers, len(GRID)))
    for j, ability in enumerate(GRID):
        parts = []
        for shift, weight in ((-node, 1 / 6), (0.0, 2 / 3), (node, 1 / 6)):
            p = SLIP / 2 + (1 - SLIP) / (1 + np.exp(-np.clip(ability * odds + shift, -30, 30)))
            parts.append(np.log(weight) + np.bincount(worker, np.log(np.where(said, p, 1 - p)), n_workers))
        out[:, j] = np.logaddexp.reduce(parts, axis=0)
    return out


def by_habit(worker: I8, yes: F8, n_workers: int) -> F8:
    """Log-likelihood of yes and no by somebody who does not look: an even coin, or any habit, all alike likely."""
    from scipy.special import betaln

    n = np.bincount(worker, minlength=n_workers)
    ones = np.bincount(worker, yes, n_workers)
    habit = betaln(ones + 1, n - ones + 1)
    return np.asarray(np.logaddexp(np.log(COIN) - n * np.log(2), np.log1p(-COIN) + habit))


def by_error(found: F8, error: F8, freedom: F8, usual: float) -> F8:
    """loglik[worker, ability] from an estimate, 0 of somebody who does not look and `usual` of the usual worker, with a
    standard error that has so many degrees of freedom."""
    from scipy.stats import t

    z = (np.nan_to_num(found)[:, None] / usual - GRID) / np.maximum(error / usual, 1e-6)[:, None]
    return np.asarray(t.logpdf(z, np.maximum(freedom, 1.0)[:, None]))


def by_means(found: F8, error: F8, freedom: F8, known: npt.NDArray[np.bool_]) -> Chances:
    """From estimates that are 0 for somebody who does not look. The usual worker stands a little above the middle, as
    some of the crowd may not look."""
    usual = float(np.quantile(found[known], 0.7)) if known.any() else 0.0
    if usual <= 0:
        return nobody(len(found))
    loglik = by_error(found, error, freedom, usual)
    return chances(loglik, loglik[:, len(GRID) // 2], known)


def held_error(square: F8, n: F8, known: npt.NDArray[np.bool_]) -> tuple[F8, F8]:
    """Standard errors of means of n rows with these sums of squares, drawn to the crowd's; and their freedom."""
    spare = np.maximum(n - 1, 0)
    crowd = float(square[known].sum()) / max(float(spare[known].sum()), 1.0)
    variance = (square + HELD * crowd) / (spare + HELD)
    return np.sqrt(variance / np.maximum(n, 1)), spare + HELD


def some_rows(worker: I8, n_workers: int, most: int = MOST_ROWS) -> npt.NDArray[np.int64]:
    """At most so many rows of each worker, spread evenly over all of theirs."""
    n = np.bincount(worker, minlength=n_workers)
    order = np.argsort(worker, kind="stable")
    place = np.arange(len(worker)) - (np.cumsum(n) - n)[worker[order]]
    step = np.maximum(n / most, 1.0)[worker[order]]
    first = np.floor(place / step) != np.floor((place - 1) / step)
    return np.sort(order[first | (place == 0)])


def folds(n_workers: int, n_rows: int) -> npt.NDArray[np.int64]:
    """A fold for every worker: what is estimated without a fold judges its workers. Large crowds have fewer."""
    parts = 8 if n_rows <= 50_000 else 2
    return np.asarray(np.random.default_rng(0).permutation(n_workers) % min(parts, max(n_workers, 1)))
