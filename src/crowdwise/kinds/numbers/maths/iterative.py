"""Bayesian iterative: workers with one of a few variances, with tasks and workers inferred by belief propagation.

    y ~ N(mu, t²),   worker's variance one of v_1..v_S with probabilities p,   answer ~ N(y, variance)

The model is that of Ok et al. (2019), pmlr v89/ok19a. The messages (see beliefs.py) are mixtures instead of a Gaussian
with the expected precision, which brings the squared error within 0.0002 of that of the exact posterior mean.
"""

from __future__ import annotations

import numpy as np

from ....core.arrays import F8
from ....stats.logspace import normalise_rows
from .beliefs import Edges, Rounds, Tables
from .gaussian import gaussian
from .rows import NumberFit, NumberRows, gold_mask, relative_weight, standardise, unstandardise, with_gold
from .simple import clamped, mean, pooled_variance

STEPS = 4.0 ** np.arange(-2, 3)  # variances relative to the pooled variance
GRID, MOST_GRID = 201, 801
UNDAMPED = 10  # rounds
# Prior variance of the tasks relative to the variance of their means. It is not fitted: workers who always give the
# same answer would shrink it.
WIDE = 4.0


def bayesian_iterative(
    rows: NumberRows,
    gold: F8 | None = None,
    *,
    variances: F8 | None = None,
    shares: F8 | None = None,
    prior: tuple[float, float] | None = None,
    debias: bool = True,
    bias: F8 | None = None,
    clamp: bool = True,
    max_iter: int = 500,
    tol: float = 1e-3,
) -> NumberFit:
    """Fit the model.

    Args:
        rows: The answers.
        gold: Known values, NaN where unknown.
        variances: Possible variances of the workers; by default from the pooled variance.
        shares: Prior probabilities of the variances; fitted by default.
        prior: Mean and variance of the tasks; by default from the spread of the answers.
        debias: Subtract the biases of `gaussian` from the answers first.
        bias: Biases of the workers to subtract instead.
        clamp: Clamp outliers first; otherwise they stretch the grid.
        max_iter: Maximum number of rounds.
        tol: Largest change of a worker's probability of a variance at convergence.
    """
    rows = rows.present()
    if bias is None and debias:
        bias = gaussian(clamped(rows)[0], gold).bias
    rows, gold, scale = standardise(rows, gold)
    offset = np.zeros(rows.n_workers) if bias is None else bias / scale.unit
    rows = rows.with_value(rows.value - offset[rows.worker])
    if clamp:
        rows, _ = clamped(rows)
    edges = Edges.of(rows)
    start = with_gold(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    noise = pooled_variance(rows, start)
    levels = noise * STEPS if variances is None else np.asarray(variances, dtype=np.float64) / scale.unit**2
    share = np.full(len(levels), 1 / len(levels)) if shares is None else np.asarray(shares, dtype=np.float64)
    if prior is None:
        answered_means = start[rows.per_task > 0]
        mu = float(answered_means.mean()) if len(answered_means) else 0.0
        tau = max(WIDE * float(answered_means.var()) if len(answered_means) else 1.0, 1e-4)
    else:
        mu, tau = (prior[0] - scale.centre) / scale.unit, prior[1] / scale.unit**2
    grid = grid_of(rows, mu, tau, float(levels.min()))
    tables = Tables.of(edges, grid, np.maximum(levels, (grid[1] - grid[0]) ** 2 / 2))
    active, rounds = rows.per_worker > 0, Rounds(edges, tables, gold)
    weights = np.tile(share, (len(edges.task), 1))
    worker_weights = np.tile(share, (rows.n_workers, 1))
    mean, variance = start, np.ones(rows.n_tasks)
    n_iter, converged = 0, False
    while n_iter < max_iter:
        n_iter += 1
        log_prior = -0.5 * (grid - mu) ** 2 / tau
        mean, variance, log_g = rounds(weights, log_prior)
        total = np.log(np.maximum(share, 1e-300)) + worker_sums(log_g, edges.worker, rows.n_workers)
        new, cavity = normalise_rows(total)[0], normalise_rows(total[edges.worker] - log_g)[0]
        # Loops can make messages oscillate; damping makes them converge.
        weights = cavity if n_iter <= UNDAMPED else (weights + cavity) / 2
        moved = float(np.abs(new - worker_weights)[active].max(initial=0.0))
        worker_weights = new
        if moved < tol:
            converged = True
            break
        if shares is None and active.any():
            share = worker_weights[active].mean(axis=0)
    moments = mean, variance
    fit = _describe(rows, gold, moments, worker_weights, share, tables, (mu, tau), offset, n_iter, converged)
    return unstandardise(fit, scale)


def _describe(
    rows: NumberRows, gold: F8 | None, moments: tuple[F8, F8], worker_weights: F8, share: F8, tables: Tables,
    prior: tuple[float, float], offset: F8, n_iter: int, converged: bool,
) -> NumberFit:  # fmt: skip
    unanswered = rows.per_task == 0
    mean, variance = np.where(unanswered, prior[0], moments[0]), np.where(unanswered, prior[1], moments[1])
    mean, variance = with_gold(mean, gold), np.where(gold_mask(gold, rows.n_tasks), 0.0, variance)
    worker_weights = np.where((rows.per_worker > 0)[:, None], worker_weights, share)
    precision = worker_weights @ (1 / tables.variances)
    extra = {
        "say": worker_weights, "shares": share, "variances": tables.variances, "grid": tables.grid, "prior": prior,
        "offset": offset,
    }  # fmt: skip
    spread = np.sqrt(worker_weights @ tables.variances)
    ones = np.ones(rows.n_workers)
    weight = relative_weight(precision, rows)
    return NumberFit(
        "bayesian_iterative", mean, variance, offset, spread, ones, weight, np.empty(0), n_iter, converged, extra
    )


def grid_of(rows: NumberRows, mu: float, tau: float, smallest: float) -> F8:
    """Grid over all answers and at least four prior sd on each side, fine enough for the smallest variance."""
    reach = 4 * np.sqrt(tau)
    low = min(mu - reach, float(rows.value.min(initial=mu)))
    high = max(mu + reach, float(rows.value.max(initial=mu)))
    points = int(np.clip(np.ceil((high - low) / np.sqrt(smallest)) + 1, GRID, MOST_GRID))
    return np.linspace(low, high, points)


def worker_sums(log_g: F8, worker: np.ndarray, n_workers: int) -> F8:
    """Sums over the edges of each worker, [worker, variance]."""
    return np.stack([np.bincount(worker, weights=column, minlength=n_workers) for column in log_g.T], axis=1)


# ----------------------------------------------------------------
# The default: the average of four dissimilar methods, after clamping outliers.
# Mean, Gaussian workers without and with slopes, and Bayesian iterative fail on different crowds: noisy workers,
# workers who always give the same answer, compressed scales, few answers. Their average is never far from the best.

MEMBERS = ("mean", "gaussian", "gaussian_slope", "bayesian_iterative")


def combined(rows: NumberRows, gold: F8 | None = None, *, max_iter: int = 500, shards: int = 1) -> NumberFit:
    """Average the members' estimates. The variance is that of `gaussian`, the workers are those of its sloped form."""
    rows = rows.present()
    rows, limit = clamped(rows)
    plain = mean(rows, gold)
    flat = gaussian(rows, gold, max_iter=max_iter, shards=shards)
    sloped = gaussian(rows, gold, slope=True, max_iter=max_iter, shards=shards)
    iterative = bayesian_iterative(rows, gold, bias=flat.bias, max_iter=max_iter)
    members = dict(zip(MEMBERS, (plain, flat, sloped, iterative), strict=True))
    estimate = np.mean([fit.mean for fit in members.values()], axis=0)
    extra = {"members": members, "limit": limit, "centre": sloped.extra["centre"], "unit": sloped.extra["unit"]}
    return NumberFit(
        "combined", estimate, flat.variance, sloped.bias, sloped.spread, sloped.slope,
        np.mean([fit.weight for fit in members.values()], axis=0), flat.trace, flat.n_iter,
        flat.converged and sloped.converged and iterative.converged, extra,
    )  # fmt: skip
