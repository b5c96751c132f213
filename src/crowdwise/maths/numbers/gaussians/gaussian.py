"""Gaussian workers with a bias and a precision each, all of them drawn from one crowd.

    answer = y + b_m + noise,   b_m ~ N(0, s_b²),   noise ~ N(0, 1 / q_m),   q_m ~ Gamma(a, a s0²),   y flat

Variational EM over y, b and q (exact means of y and b given q); s_b², s0² and a >= 10 are fitted. The trace is the
evidence bound: it never falls while the cap on precisions stays, which changes only between stages. After Raykar et
al. (2010), JMLR 11, 1297-1322, whose plain model stands in plain_gaussian.py; the hierarchy and the cap keep workers
who always say the same from ruling the estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..fit import Fit, answered_prior, held, known, outward, relative
from ..linear import Linear
from ..rows import F8, Mask, Rows
from ..scaling import standardise
from ..simple import pooled_variance
from .passes import DOUBT, GAP, LOG_2PI, SQUARE, Message, Space, Stats
from .precision import Precision

STAGES = 8
FLOOR = 1e-10  # of variances, in units of the answers' variance


@dataclass(frozen=True, eq=False)
class Workers:
    """Posteriors of the workers' biases N(bias, doubt) and precisions, and the spread of biases in the crowd."""

    bias: F8
    doubt: F8
    spread: float  # s_b²
    precision: Precision


def gaussian(
    rows: Rows,
    gold: F8 | None = None,
    *,
    slope: bool = False,
    strength: float = 10.0,
    cap: float = 4.0,
    max_iter: int = 500,
    tol: float = 1e-7,
    shards: int = 1,
) -> Fit:
    """Fit biases and precisions (with `slope` also slopes).

    `strength` is the least a of the precisions' prior, `cap` the highest precision in units of the median one.
    """
    if slope:
        from .slopes import sloped

        return sloped(rows, gold, strength=strength, cap=cap, max_iter=max_iter, tol=tol, shards=shards)
    rows, gold, scale = standardise(rows.present(), gold)
    n, heard = rows.per_worker, rows.per_worker > 0
    space, taught = Space.of(rows, gold, shards), bool(known(gold, rows.n_tasks).any())
    state = start(rows, gold, n, strength)
    trace: list[float] = []
    stage: list[int] = []
    converged = False
    for round_ in range(STAGES):
        fresh = True
        converged = False
        while len(trace) < max_iter:
            _, _, stats = space.sweep(Message(state.precision.mean, state.bias))
            trace.append(bound(state, stats, n, heard))
            stage.append(round_)
            if not fresh and trace[-1] - trace[-2] < tol * max(float(n.sum()), 1.0):
                converged = True
                break
            state, fresh = step(state, stats, n, heard, strength), False
            if not taught:
                state = centred(state, heard)
        limit = state.precision.limit(heard, cap)
        if len(trace) >= max_iter or limit is None:
            break
        state = replace(state, precision=state.precision.capped(limit))
    fit = describe(rows, gold, state, n, np.array(trace), converged)
    fit.extra["stage"] = np.array(stage)
    return outward(fit, scale)


def start(rows: Rows, gold: F8 | None, n: F8, strength: float) -> Workers:
    """No biases, one variance."""
    mean = held(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    noise = pooled_variance(rows, mean)
    precision = Precision.start(n, noise, strength)
    spread = noise / 4
    doubt = 1 / (1 / spread + n * precision.mean)
    return Workers(np.zeros(rows.n_workers), doubt, spread, precision)


def step(state: Workers, stats: Stats, n: F8, heard: Mask, strength: float) -> Workers:
    """New biases, their spread, and precisions, from the sums of a pass."""
    gap, square, v = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT))
    q = state.precision.mean
    doubt = 1 / (1 / state.spread + n * q)
    # `gap` is what is left after the old bias.
    bias = np.where(heard, doubt * q * (gap + n * state.bias), 0.0)
    moved = bias - state.bias
    spread = max(float((bias**2 + doubt)[heard].mean()), FLOOR) if heard.any() else state.spread
    error = np.maximum(square - 2 * moved * gap + n * moved**2, 0.0) + v + n * doubt
    return Workers(bias, doubt, spread, state.precision.update(n, error, heard, strength))


def centred(state: Workers, heard: Mask) -> Workers:
    """Biases with mean 0. Only y + b is seen and y is flat: moving a constant from one to the other costs nothing,
    brings the biases nearer to their prior, and would else take EM thousands of rounds."""
    if not heard.any():
        return state
    bias = np.where(heard, state.bias - state.bias[heard].mean(), 0.0)
    return replace(state, bias=bias, spread=max(float((bias**2 + state.doubt)[heard].mean()), FLOOR))


def bound(state: Workers, stats: Stats, n: F8, heard: Mask) -> float:
    """The evidence bound, tasks integrated out."""
    q, bias, doubt = state.precision.mean, state.bias, state.doubt
    rows = -0.5 * float((q * (stats.workers[:, SQUARE] + n * doubt)).sum() + LOG_2PI * n.sum())
    b2 = (bias**2 + doubt)[heard]
    biases = 0.5 * float((np.log(doubt[heard] / state.spread) + 1 - b2 / state.spread).sum())
    return float(stats.tasks[3]) + rows + biases + state.precision.bound(n, heard)


def describe(rows: Rows, gold: F8 | None, state: Workers, n: F8, trace: F8, converged: bool) -> Fit:
    """Estimates under what was learnt; a task's variance counts the doubt about the biases it was freed of."""
    heard = rows.per_worker > 0
    q = state.precision.mean
    crowd = float(q[heard].mean()) if heard.any() else 1.0
    q = np.where(heard, q, crowd)
    doubt = np.where(heard, state.doubt, state.spread)
    zero = (0.0, 1.0)
    mean, _ = Linear(q, q, q * state.bias, 0.0, 0.0, doubt, zero).judge(rows)
    prior = answered_prior(held(mean, gold), rows.per_task > 0)
    judge = Linear(q, q, q * state.bias, 0.0, 0.0, doubt, prior)
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    noise, free = state.precision.described(n, heard)
    extra = {
        "linear": judge, "bias_variance": state.spread, "bias_doubt": doubt, "strength": state.precision.a,
        "noise": state.precision.variance, "cap": state.precision.cap, "precision": q, "strength_of_spread": free,
    }  # fmt: skip
    ones = np.ones(rows.n_workers)
    return Fit("gaussian", mean, variance, state.bias, np.sqrt(noise), ones, relative(q, rows), trace, len(trace),
               converged, extra)  # fmt: skip
