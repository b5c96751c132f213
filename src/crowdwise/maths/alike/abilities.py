"""Likelihoods of abilities: from yes and no beside what the usual worker would say, or from a mean and its error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .population import GRID, Chances, chances, nobody

F8 = npt.NDArray[np.float64]
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
