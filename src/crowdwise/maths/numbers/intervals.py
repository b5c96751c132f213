"""Intervals of estimates: Gaussian from the variance, or split conformal from gold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .fit import Fit
from .rows import F8, Rows

LEAST_GOLD = 10


def gaussian_interval(mean: F8, variance: F8, level: float = 0.9) -> tuple[F8, F8]:
    """mean ± z sd: right where the workers' common target is the truth that is asked for."""
    from scipy.special import ndtri

    half = float(ndtri(0.5 + level / 2)) * np.sqrt(variance)
    return mean - half, mean + half


def conformal_margin(errors: F8, level: float = 0.9) -> float:
    """Half-width that covers a new task with probability `level` or more, from |truth - estimate| of gold tasks.

    The ceil((n + 1) level)-th smallest error (Lei et al. 2018, doi:10.1080/01621459.2017.1307116); infinite where there
    are too few gold tasks for the level. The estimates must not have seen the gold.
    """
    n = len(errors)
    rank = int(np.ceil((n + 1) * level - 1e-9))
    return float(np.sort(errors)[rank - 1]) if rank <= n else np.inf


def gold_margin(
    method: Callable[[Rows, F8 | None], Fit], rows: Rows, gold: F8, level: float = 0.9, *, folds: int = 5, seed: int = 0
) -> float | None:
    """The margin from gold tasks that have answers, each estimated without its own gold; None below ten of them.

    Gold is dealt into `folds`, each scored under a fit that knows the others. `folds` = 0: one fit that knows no gold,
    which is cheaper, and wider than need be where gold corrects the crowd.
    """
    use = np.flatnonzero(~np.isnan(gold) & (rows.present().per_task > 0))
    if len(use) < LEAST_GOLD:
        return None
    if folds < 2:
        return conformal_margin(np.abs(method(rows, None).mean - gold)[use], level)
    errors = np.empty(len(gold))
    for part in np.array_split(np.random.default_rng(seed).permutation(use), folds):
        others = gold.copy()
        others[part] = np.nan
        errors[part] = np.abs(method(rows, others).mean - gold)[part]
    return conformal_margin(errors[use], level)


def interval(fit: Fit, gold: F8 | None, margin: float | None, level: float = 0.9) -> tuple[F8, F8]:
    """Of every task: the margin where gold gave one, else Gaussian; gold tasks are known exactly."""
    if margin is None:
        return gaussian_interval(fit.mean, fit.variance, level)
    half = np.full(len(fit.mean), margin)
    if gold is not None:
        half[~np.isnan(gold)] = 0.0
    return fit.mean - half, fit.mean + half
