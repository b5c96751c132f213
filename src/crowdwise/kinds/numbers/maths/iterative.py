"""Bayesian iterative: workers with one of a few variances, tasks and workers inferred by belief propagation.

    y ~ N(mu, t²),   worker's variance one of v_1..v_S with probabilities p,   answer ~ N(y, variance)

After Ok et al. (2019), pmlr v89/ok19a in its model; messages as in beliefs.py, where the mixture is
kept instead of a Gaussian of the expected precision: that is within 0.0002 of the exact posterior mean's squared error.
"""

from __future__ import annotations

import numpy as np

from .beliefs import Edges, Rounds, Tables
from .gaussian import gaussian
from .rows import F8, Fit, Rows, held, known, outward, relative, standardise
from .simple import clamped, mean, pooled_variance

STEPS = 4.0 ** np.arange(-2, 3)  # variances in units of the pooled one
GRID, MOST_GRID = 201, 801
UNDAMPED = 10  # rounds
# The tasks' prior variance in units of their means' variance. Fitted, it would follow workers who always say the same.
WIDE = 4.0


def bayesian_iterative(
    rows: Rows,
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
) -> Fit:
    """Fit; `variances` and a task's `prior` (mean, variance) come from the answers' spread, `shares` are learnt.

    Workers' biases are taken off the answers first: `bias[worker]` in the answers' units, or, with `debias`, those of
    `gaussian`. With `clamp` wild answers are pulled in, else they would stretch the grid. It stops when no worker's
    probability of a variance moves by more than `tol`.
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
    start = held(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    noise = pooled_variance(rows, start)
    set_ = noise * STEPS if variances is None else np.asarray(variances, dtype=np.float64) / scale.unit**2
    share = np.full(len(set_), 1 / len(set_)) if shares is None else np.asarray(shares, dtype=np.float64)
    if prior is None:
        some = start[rows.per_task > 0]
        mu = float(some.mean()) if len(some) else 0.0
        tau = max(WIDE * float(some.var()) if len(some) else 1.0, 1e-4)
    else:
        mu, tau = (prior[0] - scale.centre) / scale.unit, prior[1] / scale.unit**2
    grid = grid_of(rows, mu, tau, float(set_.min()))
    tables = Tables.of(edges, grid, np.maximum(set_, (grid[1] - grid[0]) ** 2 / 2))
    heard, rounds = rows.per_worker > 0, Rounds(edges, tables, gold)
    say = np.tile(share, (len(edges.task), 1))
    own = np.tile(share, (rows.n_workers, 1))
    mean, variance = start, np.ones(rows.n_tasks)
    n_iter, converged = 0, False
    while n_iter < max_iter:
        n_iter += 1
        log_prior = -0.5 * (grid - mu) ** 2 / tau
        mean, variance, log_g = rounds(say, log_prior)
        total = np.log(np.maximum(share, 1e-300)) + worker_sums(log_g, edges.worker, rows.n_workers)
        new, told = normalised(total), normalised(total[edges.worker] - log_g)
        # Loops can make messages swing for ever: halfway between two swings they settle.
        say = told if n_iter <= UNDAMPED else (say + told) / 2
        moved = float(np.abs(new - own)[heard].max(initial=0.0))
        own = new
        if moved < tol:
            converged = True
            break
        if shares is None and heard.any():
            share = own[heard].mean(axis=0)
    return outward(_describe(rows, gold, (mean, variance), own, share, tables, (mu, tau), offset, n_iter, converged),
                   scale)  # fmt: skip


def _describe(
    rows: Rows, gold: F8 | None, found: tuple[F8, F8], own: F8, share: F8, tables: Tables,
    prior: tuple[float, float], offset: F8, n_iter: int, converged: bool,
) -> Fit:  # fmt: skip
    silent = rows.per_task == 0
    mean, variance = np.where(silent, prior[0], found[0]), np.where(silent, prior[1], found[1])
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    own = np.where((rows.per_worker > 0)[:, None], own, share)
    precision = own @ (1 / tables.variances)
    extra = {
        "say": own, "shares": share, "variances": tables.variances, "grid": tables.grid, "prior": prior,
        "offset": offset,
    }  # fmt: skip
    spread = np.sqrt(own @ tables.variances)
    ones = np.ones(rows.n_workers)
    return Fit("bayesian_iterative", mean, variance, offset, spread, ones, relative(precision, rows), np.empty(0),
               n_iter, converged, extra)  # fmt: skip


def grid_of(rows: Rows, mu: float, tau: float, smallest: float) -> F8:
    """From the lowest to the highest answer or four sd of the prior; fine enough for the smallest variance."""
    reach = 4 * np.sqrt(tau)
    low = min(mu - reach, float(rows.value.min(initial=mu)))
    high = max(mu + reach, float(rows.value.max(initial=mu)))
    points = int(np.clip(np.ceil((high - low) / np.sqrt(smallest)) + 1, GRID, MOST_GRID))
    return np.linspace(low, high, points)


def worker_sums(log_g: F8, worker: np.ndarray, n_workers: int) -> F8:
    """Sums over a worker's edges, [worker, variance]."""
    return np.stack([np.bincount(worker, weights=column, minlength=n_workers) for column in log_g.T], axis=1)


def normalised(log: F8) -> F8:
    """Rows of logs as probabilities."""
    out = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(out / out.sum(axis=1, keepdims=True))


# ----------------------------------------------------------------
# The default: the average of four unlike methods on answers whose wild ones are pulled in.
# Mean, Gaussian workers without and with slopes, and Bayesian iterative fail in different crowds: noisy workers,
# workers who always say the same, compressed scales, few answers. Their average is never far from the best of them.

MEMBERS = ("mean", "gaussian", "gaussian_slope", "bayesian_iterative")


def combined(rows: Rows, gold: F8 | None = None, *, max_iter: int = 500, shards: int = 1) -> Fit:
    """Average of the members' estimates; variance is that of `gaussian`, workers are those of its sloped form."""
    rows = rows.present()
    rows, limit = clamped(rows)
    plain = mean(rows, gold)
    middle = gaussian(rows, gold, max_iter=max_iter, shards=shards)
    sloped = gaussian(rows, gold, slope=True, max_iter=max_iter, shards=shards)
    iterative = bayesian_iterative(rows, gold, bias=middle.bias, max_iter=max_iter)
    members = dict(zip(MEMBERS, (plain, middle, sloped, iterative), strict=True))
    estimate = np.mean([fit.mean for fit in members.values()], axis=0)
    extra = {"members": members, "limit": limit, "centre": sloped.extra["centre"], "unit": sloped.extra["unit"]}
    return Fit(
        "combined", estimate, middle.variance, sloped.bias, sloped.spread, sloped.slope,
        np.mean([fit.weight for fit in members.values()], axis=0), middle.trace, middle.n_iter,
        middle.converged and sloped.converged and iterative.converged, extra,
    )  # fmt: skip
