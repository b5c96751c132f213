"""Likelihoods of abilities, and the posterior probability that a worker is random or reversed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8

# ----------------------------------------------------------------
# Random and reversed workers: a mixture model of the abilities of a crowd.
# An ability is in units of the typical worker's: 1 is typical, 0 is a worker who answers at random, below 0 is one who
# reverses the answers. Honest abilities are log-normal; their median and spread, and the shares of random and of
# reversed workers, are unknown and averaged over a grid, weighted by their likelihood for the whole crowd. The result
# is the posterior probability that a worker is random or reversed: in a small crowd, or with widely spread abilities,
# no worker is identified with certainty.


# Abilities at which likelihoods are given, the same number on either side of 0.
GRID = np.linspace(-2.4, 2.4, 97)
# Grid of the median of honest abilities, and of their spread in logarithms with its prior.
MIDDLES = np.exp(np.linspace(np.log(0.45), np.log(1.5), 11))
SPREADS, SPREAD_PRIOR = (0.12, 0.2, 0.3, 0.45, 0.65), (0.3, 0.3, 0.25, 0.1, 0.05)
# Share of honest workers far from the others, and their spread.
STRAY, STRAY_SPREAD = 0.02, 0.9
# Grids of the shares of random and of reversed workers, with their priors.
IDLE, IDLE_PRIOR = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45), (0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
TURNED, TURNED_PRIOR = (0.0, 0.03, 0.1, 0.2), (0.6, 0.2, 0.1, 0.1)
# Upper bound of both shares together; above it the truth is not identifiable.
MOST = 0.6
# Minimum number of workers, and the posterior probability from which a worker is flagged.
FEWEST, SURE = 3, 0.98
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class BehaviourPosterior:
    """Posterior probability of each worker to answer at random, and to reverse the answers."""

    random: F8
    reversed: F8

    @property
    def either(self) -> F8:
        """Probability of one or the other."""
        return np.minimum(self.random + self.reversed, 1.0)

    def sure(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Masks (random, reversed) of the workers that surely are one or the other, by the likelier one."""
        is_sure = self.either >= SURE
        is_reversed = is_sure & (self.reversed > self.random)
        return is_sure & ~is_reversed, is_reversed


def zero_posterior(n_workers: int) -> BehaviourPosterior:
    """Return zero probabilities for all workers."""
    return BehaviourPosterior(np.zeros(n_workers), np.zeros(n_workers))


def chances(loglik: F8, idle: F8, judged: npt.NDArray[np.bool_]) -> BehaviourPosterior:
    """Return the posterior from loglik[worker, ability of GRID] and the log-likelihood of random answers of each
    worker.

    Workers that are not `judged` have too few answers to be judged, or to inform about the crowd.
    """
    out = zero_posterior(len(idle))
    if judged.sum() < FEWEST:
        return out
    top = np.maximum(loglik[judged].max(axis=1), idle[judged])[:, None]
    likelihood, idle_likelihood = np.exp(loglik[judged] - top), np.exp(idle[judged] - top[:, 0])
    honest, prior = _densities()
    out.random[judged], out.reversed[judged] = posterior_of(
        idle_likelihood, likelihood @ honest[::-1], likelihood @ honest, prior
    )
    return out


def posterior_of(idle_likelihood: F8, turned: F8 | None, good: F8, prior: F8) -> tuple[F8, F8]:
    """Return the probabilities that workers are random and reversed.

    `idle_likelihood` is the likelihood of each worker's answers if random; `turned` and `good` are
    [worker, hypothesis] if reversed (None: answers have no opposite) or honest.
    """
    idle, good = np.maximum(idle_likelihood, _TINY)[:, None], np.maximum(good, _TINY)
    reversed_, sorts = np.zeros_like(good), [(0.0, 1.0)]
    if turned is not None:
        reversed_, sorts = np.maximum(turned, _TINY), list(zip(TURNED, TURNED_PRIOR, strict=True))
    weights, shares = [], []
    for i, p in zip(IDLE, IDLE_PRIOR, strict=True):
        for t, q in sorts:
            if i + t < MOST:
                shares.append((i, t))
                mixture = np.log(_mixed(idle, reversed_, good, i, t)).sum(axis=0)
                weights.append(mixture + np.log(p * q) + prior)
    weight = np.exp(np.array(weights) - np.max(weights))
    weight /= weight.sum()
    is_random, is_reversed = np.zeros(len(good)), np.zeros(len(good))
    for w, (i, t) in zip(weight, shares, strict=True):
        mixture = _mixed(idle, reversed_, good, i, t)
        is_random += (i * idle / mixture) @ w
        is_reversed += (t * reversed_ / mixture) @ w
    return is_random, is_reversed


def _mixed(idle: F8, turned: F8, good: F8, i: float, t: float) -> F8:
    return np.asarray(np.maximum(i * idle + t * turned + (1 - i - t) * good, _TINY))


def _densities() -> tuple[F8, F8]:
    """Return honest[ability, hypothesis] and the log prior of the hypotheses."""
    densities, prior = [], []
    for middle in MIDDLES:
        stray = lognormal(GRID, middle, STRAY_SPREAD)
        for spread, p in zip(SPREADS, SPREAD_PRIOR, strict=True):
            densities.append((1 - STRAY) * lognormal(GRID, middle, spread) + STRAY * stray)
            prior.append(np.log(p))
    return np.array(densities).T, np.array(prior)


def lognormal(grid: F8, middle: float, spread: float) -> F8:
    """Probabilities on a grid of a log-normal distribution with this median and standard deviation of the logarithm."""
    positive = np.maximum(grid, 1e-9)
    density = np.exp(-0.5 * ((np.log(positive) - np.log(middle)) / spread) ** 2) / positive
    density = np.where(grid > 1e-9, density, 0.0)
    return np.asarray(density / density.sum())


I8 = npt.NDArray[np.integer]
# Maximum number of answers of a worker that are used.
MOST_ROWS = 300
# Distance of single probabilities from 0 and 1; spread of the workers' bias to yes or no in log odds; and the share of
# random workers who toss an even coin, while the others have any habit.
EDGE, LEAN, COIN = 0.02, 0.4, 0.95
# For workers whose ability is a slope: spread of the bias, and rate of slips.
SIDE, SLIP = 0.2, 0.01
# Weight in rows of the crowd's mean squared error in that of a worker.
HELD = 8.0


def by_answers(worker: I8, yes: F8, usual: F8, habit: F8, n_workers: int, lean: float = LEAN) -> F8:
    """loglik[worker, ability] of yes/no answers.

    `yes` is 1 or 0, `usual` the probability that the typical worker answers yes to that question, `habit` the crowd's
    probability of yes whatever the question. With ability a the probability is (1 - a) habit + a usual, shifted in log
    odds by the worker's bias (sd `lean`), which is averaged over.
    """
    is_yes = yes > 0.5
    node = np.sqrt(3) * lean
    out = np.empty((n_workers, len(GRID)))
    for j, ability in enumerate(GRID):
        p = np.clip((1 - ability) * habit + ability * usual, EDGE, 1 - EDGE)
        plain = np.bincount(worker, np.log(np.where(is_yes, p, 1 - p)), n_workers)
        parts = [np.log(2 / 3) + plain]
        for shift in (-node, node):
            # s(logit p + shift) is p e^shift / (1 + p (e^shift - 1)).
            moved = np.bincount(worker, shift * is_yes - np.log1p(p * np.expm1(shift)), n_workers)
            parts.append(np.log(1 / 6) + plain + moved)
        out[:, j] = np.logaddexp.reduce(parts, axis=0)
    return out


def by_slopes(worker: I8, yes: F8, odds: F8, n_workers: int) -> F8:
    """loglik[worker, ability] if ability a multiplies `odds`, the typical worker's log odds of yes to that question.

    This is the model of scores and positions. The workers' bias to yes or no (sd SIDE) is averaged over; one answer in
    a hundred is a slip.
    """
    is_yes = yes > 0.5
    node = np.sqrt(3) * SIDE
    out = np.empty((n_workers, len(GRID)))
    for j, ability in enumerate(GRID):
        parts = []
        for shift, weight in ((-node, 1 / 6), (0.0, 2 / 3), (node, 1 / 6)):
            p = SLIP / 2 + (1 - SLIP) / (1 + np.exp(-np.clip(ability * odds + shift, -30, 30)))
            parts.append(np.log(weight) + np.bincount(worker, np.log(np.where(is_yes, p, 1 - p)), n_workers))
        out[:, j] = np.logaddexp.reduce(parts, axis=0)
    return out


def by_habit(worker: I8, yes: F8, n_workers: int) -> F8:
    """Log-likelihood of yes/no answers of a random worker: an even coin, or any habit with a uniform prior."""
    from scipy.special import betaln

    n = np.bincount(worker, minlength=n_workers)
    ones = np.bincount(worker, yes, n_workers)
    habit = betaln(ones + 1, n - ones + 1)
    return np.asarray(np.logaddexp(np.log(COIN) - n * np.log(2), np.log1p(-COIN) + habit))


def by_error(estimate: F8, error: F8, degrees: F8, usual: float) -> F8:
    """loglik[worker, ability] from an estimate (0 for a random worker, `usual` for the typical one) with its standard
    error.
    """
    from scipy.stats import t

    z = (np.nan_to_num(estimate)[:, None] / usual - GRID) / np.maximum(error / usual, 1e-6)[:, None]
    return np.asarray(t.logpdf(z, np.maximum(degrees, 1.0)[:, None]))


def posterior_from_means(estimate: F8, error: F8, degrees: F8, judged: npt.NDArray[np.bool_]) -> BehaviourPosterior:
    """Return the posterior from estimates that are 0 for a random worker.

    The typical worker is a little above the median, as some of the crowd may be random.
    """
    usual = float(np.quantile(estimate[judged], 0.7)) if judged.any() else 0.0
    if usual <= 0:
        return zero_posterior(len(estimate))
    loglik = by_error(estimate, error, degrees, usual)
    return chances(loglik, loglik[:, len(GRID) // 2], judged)


def shrunk_error(square: F8, n: F8, judged: npt.NDArray[np.bool_]) -> tuple[F8, F8]:
    """Return standard errors of means of n rows with these sums of squares, shrunk to the crowd's, and degrees of
    freedom.
    """
    spare = np.maximum(n - 1, 0)
    crowd_variance = float(square[judged].sum()) / max(float(spare[judged].sum()), 1.0)
    variance = (square + HELD * crowd_variance) / (spare + HELD)
    return np.sqrt(variance / np.maximum(n, 1)), spare + HELD


def some_rows(worker: I8, n_workers: int, most: int = MOST_ROWS) -> npt.NDArray[np.int64]:
    """Return at most `most` rows of each worker, spread evenly."""
    n = np.bincount(worker, minlength=n_workers)
    order = np.argsort(worker, kind="stable")
    place = np.arange(len(worker)) - (np.cumsum(n) - n)[worker[order]]
    step = np.maximum(n / most, 1.0)[worker[order]]
    first = np.floor(place / step) != np.floor((place - 1) / step)
    return np.sort(order[first | (place == 0)])


def worker_folds(worker: I8, n_workers: int) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yield the training rows and the held-out rows of each fold; a fold holds all rows of some workers.

    Large crowds have fewer folds.
    """
    n_folds = 8 if len(worker) <= 50_000 else 2
    fold = (np.random.default_rng(0).permutation(n_workers) % min(n_folds, max(n_workers, 1)))[worker]
    for f in np.unique(fold).tolist():
        yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)
