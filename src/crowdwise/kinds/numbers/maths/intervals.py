"""Intervals of estimates: Gaussian from the variance, or rescaled by split conformal prediction on gold.

Let e be the error of a gold task under a fit without its gold. The half-width of the interval of task i is

    factor · sqrt(variance_i + shared)

`shared` is the variance of errors common to all answers of a task, the maximum of the Gaussian likelihood of the
errors. `factor` is the conformal quantile of |e| / sqrt(variance + shared), shrunk on the log scale towards the
Gaussian quantile by SHRINKAGE pseudo-tasks, because with few gold tasks the conformal quantile is one of the largest
errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ....core.arrays import F8, I8
from .rows import NumberFit, NumberRows

LEAST_GOLD = 10
# Weight of the Gaussian quantile, in gold tasks.
SHRINKAGE = 10.0


def gaussian_interval(mean: F8, variance: F8, level: float = 0.9) -> tuple[F8, F8]:
    """mean ± z sd. It covers the truth only where the workers have no common error."""
    from scipy.special import ndtri

    half = float(ndtri(0.5 + level / 2)) * np.sqrt(variance)
    return mean - half, mean + half


def conformal_margin(errors: F8, level: float = 0.9) -> float:
    """Half-width that covers a new task with probability at least `level`, from |truth - estimate| of gold tasks.

    The ceil((n + 1) level)-th smallest error (Lei et al. 2018, doi:10.1080/01621459.2017.1307116); infinite where there
    are too few gold tasks for the level. The estimates must come from fits without the gold.
    """
    n = len(errors)
    rank = int(np.ceil((n + 1) * level - 1e-9))
    return float(np.sort(errors)[rank - 1]) if rank <= n else np.inf


def gold_margin(
    method: Callable[[NumberRows, F8 | None], NumberFit],
    rows: NumberRows,
    gold: F8,
    level: float = 0.9,
    *,
    folds: int = 5,
    seed: int = 0,
) -> float | None:
    """Conformal margin from answered gold tasks, each estimated without its own gold; None with fewer than ten.

    Gold is split into `folds` folds, each scored under a fit with the gold of the others. With `folds` = 0, one fit
    without gold is used, which is cheaper but gives wider intervals where gold corrects the crowd.
    """
    use = np.flatnonzero(~np.isnan(gold) & (rows.present().per_task > 0))
    if len(use) < LEAST_GOLD:
        return None
    if folds < 2:
        return conformal_margin(np.abs(method(rows, None).mean - gold)[use], level)
    errors = np.empty(len(gold))
    for part, fit in _held_out_fits(method, rows, gold, use, folds, seed):
        errors[part] = np.abs(fit.mean - gold)[part]
    return conformal_margin(errors[use], level)


def _held_out_fits(
    method: Callable[[NumberRows, F8 | None], NumberFit], rows: NumberRows, gold: F8, use: I8, folds: int, seed: int
) -> Iterator[tuple[I8, NumberFit]]:
    """Yield random folds of the gold tasks `use`, each with a fit without its gold."""
    for part in np.array_split(np.random.default_rng(seed).permutation(use), folds):
        others = gold.copy()
        others[part] = np.nan
        yield part, method(rows, others)


@dataclass(frozen=True)
class Rescaled:
    """Calibrated intervals with half-width factor · sqrt(variance + shared), from `n` gold tasks.

    The share of the other tasks that they cover lies in `low`..`high` with probability 0.9 (beta-binomial, assuming
    exchangeable errors).
    """

    factor: float
    shared: float
    n: int
    low: float
    high: float

    def half(self, variance: F8) -> F8:
        """Half-width of the interval of each task; where there is no variance, the same for all."""
        return np.asarray(self.factor * np.sqrt(np.nan_to_num(variance, nan=0.0) + self.shared))


def rescaled(error: F8, variance: F8, level: float = 0.9, *, others: int = 1_000_000) -> Rescaled:
    """Calibrate intervals from the errors and variances of gold tasks under fits without their gold.

    `others` is the number of tasks without gold.
    """
    from scipy.special import ndtri
    from scipy.stats import betabinom

    n, task_variance = len(error), np.nan_to_num(variance, nan=0.0)
    shared = _shared(error, task_variance)
    rank = min(int(np.ceil((n + 1) * level - 1e-9)), n)
    score = np.sort(np.abs(error) / np.sqrt(task_variance + shared))[rank - 1]
    gaussian = float(ndtri(0.5 + level / 2))
    factor = float(np.exp((n * np.log(max(score, 1e-9)) + SHRINKAGE * np.log(gaussian)) / (n + SHRINKAGE)))
    size = max(others, 1)
    low, high = (float(betabinom.ppf(p, size, rank, n + 1 - rank)) / size for p in (0.05, 0.95))
    return Rescaled(factor, shared, n, low, high)


def _shared(error: F8, variance: F8) -> float:
    """Maximum likelihood estimate of the variance added to the variances of the tasks; positive."""
    from scipy.optimize import minimize_scalar

    square = error**2
    scale = max(float(square.mean()), float(variance.mean()), 1e-300)

    def loss(log: float) -> float:
        total = variance + scale * np.exp(log)
        return float((np.log(total) + square / total).sum())

    return scale * float(np.exp(minimize_scalar(loss, bounds=(-12.0, 2.0), method="bounded").x))


def gold_scale(
    method: Callable[[NumberRows, F8 | None], NumberFit],
    rows: NumberRows,
    gold: F8,
    level: float = 0.9,
    *,
    folds: int = 5,
    seed: int = 0,
) -> Rescaled | None:
    """Calibrate intervals on answered gold tasks, each under a fit without its own gold (see `gold_margin`).

    Returns None with fewer than ten such tasks.
    """
    use = np.flatnonzero(~np.isnan(gold) & (rows.present().per_task > 0))
    if len(use) < LEAST_GOLD:
        return None
    error, variance = np.empty(len(gold)), np.empty(len(gold))
    for part, fit in _held_out_fits(method, rows, gold, use, folds, seed):
        error[part], variance[part] = (fit.mean - gold)[part], fit.variance[part]
    answered = int((rows.present().per_task > 0).sum())
    return rescaled(error[use], variance[use], level, others=answered - len(use))


def interval(fit: NumberFit, gold: F8 | None, margin: float | Rescaled | None, level: float = 0.9) -> tuple[F8, F8]:
    """Intervals of all tasks: calibrated on gold where possible, otherwise Gaussian. Gold tasks have width 0."""
    if margin is None:
        return gaussian_interval(fit.mean, fit.variance, level)
    half = margin.half(fit.variance) if isinstance(margin, Rescaled) else np.full(len(fit.mean), margin)
    if gold is not None:
        half[~np.isnan(gold)] = 0.0
    return fit.mean - half, fit.mean + half
