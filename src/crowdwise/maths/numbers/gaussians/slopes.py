"""Gaussian workers with a slope too: some use the whole scale, some a part of it, some turn it round.

    answer = s_m y + b_m + noise,   y ~ N(mu, t²),   s_m ~ N(1, s_s²),   b_m ~ N(0, s_b²),   noise as in gaussian.py

Variational EM over y, (s, b) and the precisions; mu, t² and the crowd's variances are fitted. A flat y would explode
here (slopes near 0 send estimates anywhere), so y has a prior. Only products s y are seen: at the end the scale of y
is set so that sum q N s² = sum q N s, a weighted mean slope of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..fit import Fit, held, known, outward, relative
from ..linear import Linear
from ..rows import F8, Mask, Rows
from ..scaling import standardise
from ..simple import pooled_variance
from .passes import DOUBT, GAP, GAP_Y, LOG_2PI, SQUARE, SUM_Y, SUM_Y2, Message, Space, Stats
from .precision import Precision

STAGES = 8
FLOOR = 1e-10


@dataclass(frozen=True, eq=False)
class Sloped:
    """Posterior means and (co)variances of slopes and biases, the crowd's variances of both, precisions, prior of y."""

    slope: F8
    bias: F8
    slope_doubt: F8
    bias_doubt: F8
    both: F8  # covariance of slope and bias
    slope_spread: float
    bias_spread: float
    precision: Precision
    mu: float
    tau: float  # variance of y

    def message(self) -> Message:
        """What a pass needs."""
        q = self.precision.mean
        a, c = q * (self.slope**2 + self.slope_doubt), q * (self.slope * self.bias + self.both)
        return Message(q, self.bias, self.mu, 1 / self.tau, self.slope, a, c)


def sloped(rows: Rows, gold: F8 | None, *, strength: float, cap: float, max_iter: int, tol: float, shards: int) -> Fit:
    """Fit slopes, biases and precisions."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, heard = rows.per_worker, rows.per_worker > 0
    space = Space.of(rows, gold, shards)
    state = start(rows, gold, n, strength)
    trace: list[float] = []
    stage: list[int] = []
    converged = False
    for round_ in range(STAGES):
        fresh, converged = True, False
        while len(trace) < max_iter:
            _, _, stats = space.sweep(state.message())
            trace.append(bound(state, stats, n, heard))
            stage.append(round_)
            if not fresh and trace[-1] - trace[-2] < tol * max(float(n.sum()), 1.0):
                converged = True
                break
            state, fresh = step(state, stats, n, heard, strength), False
        limit = state.precision.limit(heard, cap)
        if len(trace) >= max_iter or limit is None:
            break
        state = replace(state, precision=state.precision.capped(limit))
    fit = describe(rows, gold, state, np.array(trace), converged)
    fit.extra["stage"] = np.array(stage)
    return outward(fit, scale)


def start(rows: Rows, gold: F8 | None, n: F8, strength: float) -> Sloped:
    """Slopes of one, no biases, one variance, tasks as the means have them."""
    mean = held(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    noise = pooled_variance(rows, mean)
    some = mean[rows.per_task > 0]
    tau = max(float(some.var()) if len(some) else 1.0, 1e-3)
    zero = np.zeros(rows.n_workers)
    return Sloped(
        zero + 1, zero, zero + 0.05, zero + noise / 8, zero, 0.1, noise / 4,
        Precision.start(n, noise, strength), float(some.mean()) if len(some) else 0.0, tau,
    )  # fmt: skip


def step(state: Sloped, stats: Stats, n: F8, heard: Mask, strength: float) -> Sloped:
    """New slopes and biases, their spreads, precisions and the prior of y, from the sums of a pass."""
    gap, square, v, gap_y, y1, y2 = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT, GAP_Y, SUM_Y, SUM_Y2))
    q = state.precision.mean
    # Precision matrix of (s, b) and its inverse.
    ss, sb, bb = q * (y2 + v) + 1 / state.slope_spread, q * y1, q * n + 1 / state.bias_spread
    det = ss * bb - sb**2
    s_doubt, b_doubt, both = bb / det, ss / det, -sb / det
    right_s = q * (gap_y + state.slope * y2 + state.bias * y1) + 1 / state.slope_spread
    right_b = q * (gap + state.slope * y1 + state.bias * n)
    slope = np.where(heard, s_doubt * right_s + both * right_b, 1.0)
    bias = np.where(heard, both * right_s + b_doubt * right_b, 0.0)
    ds, db = slope - state.slope, bias - state.bias
    error = square - 2 * ds * gap_y - 2 * db * gap + ds**2 * y2 + 2 * ds * db * y1 + n * db**2
    doubt = slope**2 * v + s_doubt * (y2 + v) + 2 * both * y1 + n * b_doubt
    precision = state.precision.update(n, np.maximum(error, 0.0) + doubt, heard, strength)
    s_spread = max(float(((slope - 1) ** 2 + s_doubt)[heard].mean()), FLOOR) if heard.any() else state.slope_spread
    b_spread = max(float((bias**2 + b_doubt)[heard].mean()), FLOOR) if heard.any() else state.bias_spread
    count, first, second = stats.tasks[:3]
    mu = float(first / count) if count else state.mu
    tau = max(float(second / count) - mu**2, FLOOR) if count else state.tau
    return Sloped(slope, bias, s_doubt, b_doubt, both, s_spread, b_spread, precision, mu, tau)


def bound(state: Sloped, stats: Stats, n: F8, heard: Mask) -> float:
    """The evidence bound, tasks integrated out."""
    q = state.precision.mean
    square, y1, y2 = (stats.workers[:, k] for k in (SQUARE, SUM_Y, SUM_Y2))
    error = square + state.slope_doubt * y2 + 2 * state.both * y1 + n * state.bias_doubt
    rows = -0.5 * float((q * error).sum() + LOG_2PI * n.sum())
    det = state.slope_doubt * state.bias_doubt - state.both**2
    s2, b2 = (state.slope - 1) ** 2 + state.slope_doubt, state.bias**2 + state.bias_doubt
    gain = np.log(det / (state.slope_spread * state.bias_spread)) + 2 - s2 / state.slope_spread - b2 / state.bias_spread
    return float(stats.tasks[3]) + rows + 0.5 * float(gain[heard].sum()) + state.precision.bound(n, heard)


def describe(rows: Rows, gold: F8 | None, state: Sloped, trace: F8, converged: bool) -> Fit:
    """Estimates under what was learnt, in the gauge of a mean slope of one."""
    n, heard = rows.per_worker, rows.per_worker > 0
    q = state.precision.mean
    q = np.where(heard, q, float(q[heard].mean()) if heard.any() else 1.0)
    stretch = 1.0
    if known(gold, rows.n_tasks).sum() < 2:  # gold fixes the scale
        top, low = float((q * n) @ state.slope**2), float((q * n) @ state.slope)
        stretch = float(np.clip(top / low, 0.1, 10.0)) if low > 0 else 1.0
    # r = s y + b with y = mu + (z - mu) / stretch: slope s / stretch, bias b + s mu (1 - 1 / stretch).
    slope = state.slope / stretch
    bias = state.bias + (state.slope - slope) * state.mu
    s_doubt = np.where(heard, state.slope_doubt, state.slope_spread) / stretch**2
    turn = 1 - 1 / stretch
    both = (np.where(heard, state.both, 0.0) + s_doubt * stretch**2 * state.mu * turn) / stretch
    doubt = np.where(heard, state.bias_doubt, state.bias_spread)
    tau = state.tau * stretch**2
    a, c = q * (slope**2 + s_doubt), q * (slope * bias + both)
    judge = Linear(a, q * slope, c, state.mu, 1 / tau, doubt, (state.mu, tau))
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    noise, free = state.precision.described(n, heard)
    extra = {
        "linear": judge, "prior_mean": state.mu, "prior_variance": tau, "slope_doubt": s_doubt, "bias_doubt": doubt,
        "slope_variance": state.slope_spread, "bias_variance": state.bias_spread, "strength": state.precision.a,
        "noise": state.precision.variance, "cap": state.precision.cap, "stretch": stretch,
        "precision": q, "strength_of_spread": free,
    }  # fmt: skip
    return Fit("gaussian_slope", mean, variance, bias, np.sqrt(noise), slope, relative(q * slope, rows), trace,
               len(trace), converged, extra)  # fmt: skip
