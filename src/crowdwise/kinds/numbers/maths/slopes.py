"""Gaussian workers with a slope too: some use the whole scale, some a part of it, some turn it round.

    answer = s_m y + b_m + noise,   y ~ N(mu, t²),   s_m ~ N(1, s_s²),   b_m ~ N(0, s_b²),   noise as in gaussian.py

Variational EM over y, (s, b) and the precisions; mu, t² and the crowd's variances are fitted. A flat y would explode
here (slopes near 0 send estimates anywhere), so y has a prior. Only products s y are seen: at the end the scale of y
is set so that sum q N s² = sum q N s, a weighted mean slope of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .passes import DOUBT, GAP, GAP_Y, LOG_2PI, SQUARE, SUM_Y, SUM_Y2, Message, Space, Stats
from .precision import MOST, Precision
from .rows import F8, Fit, Linear, Mask, Rows, held, known, outward, relative, standardise
from .simple import pooled_variance
from .stages import FLOOR, Seen, in_stages, settled


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

    def capped(self, cap: float) -> Sloped:
        """With precisions under a cap."""
        return replace(self, precision=self.precision.capped(cap))

    def of_all(self) -> F8:
        """Logarithms of a, s0², s_s², s_b² and t²."""
        own = self.precision
        return np.log([own.a, own.variance, self.slope_spread, self.bias_spread, self.tau])

    def led_by(self, of_all: F8, stats: Stats, n: F8, strength: float) -> tuple[Sloped, Stats]:
        """Under other numbers of the crowd, and tasks that spread as these say."""
        a, variance, slope, bias, tau = np.maximum(np.exp(of_all), FLOOR).tolist()
        precision = self.precision.with_prior(float(np.clip(a, strength, MOST)), variance, n)
        count, first, _, logs = stats.tasks
        tasks = np.array([count, first, count * (tau + (first / max(count, 1.0)) ** 2), logs])
        under = replace(self, slope_spread=slope, bias_spread=bias, tau=tau, precision=precision)
        return under, replace(stats, tasks=tasks)


@dataclass(frozen=True, eq=False)
class SlopeModel:
    """The model over rows, n[worker] answers of those who are heard; gold, where there is some, fixes the scale."""

    space: Space
    n: F8
    heard: Mask
    strength: float
    taught: bool

    def sweep(self, state: Sloped) -> tuple[Seen[Sloped], float]:
        """A pass; the log density of the answers, tasks integrated out."""
        stats = self.space.accumulate(state.message())
        return Seen(stats, state, self.n, self.strength), rows_bound(state, stats, self.n)

    def maximise(self, seen: Seen[Sloped]) -> Sloped:
        """New slopes, biases, precisions and prior of y; without gold the scale is set again."""
        state = step(seen.under, seen.stats, self.n, self.heard, self.strength)
        return state if self.taught else regauged(state, self.heard)

    def log_prior(self, state: Sloped) -> float:
        """Minus the distances of slopes, biases and precisions from their priors."""
        return workers_bound(state, self.n, self.heard)


def sloped(rows: Rows, gold: F8 | None, *, strength: float, cap: float, max_iter: int, tol: float, shards: int) -> Fit:
    """Fit slopes, biases and precisions."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, heard = rows.per_worker, rows.per_worker > 0
    model = SlopeModel(Space.of(rows, gold, shards), n, heard, strength, bool(known(gold, rows.n_tasks).any()))
    found = in_stages(model, start(rows, gold, n, strength), n, heard, cap=cap, max_iter=max_iter, tol=tol)
    fit = describe(rows, gold, found.state, found.trace, found.converged)
    fit = replace(fit, n_iter=found.n_iter, extra={**fit.extra, "stage": found.stage})
    return outward(fit, scale)


def start(rows: Rows, gold: F8 | None, n: F8, strength: float) -> Sloped:
    """Slopes of one, no biases, one variance, tasks as the means have them."""
    mean = held(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    noise = pooled_variance(rows, mean)
    some = mean[rows.per_task > 0]
    tau = max(float(some.var()) if len(some) else 1.0, 1e-3)
    zero = np.zeros(rows.n_workers)
    return Sloped(
        zero + 1, zero, zero + 0.05, zero + noise / 8, zero, 0.1, max(noise / 4, FLOOR),
        Precision.start(n, noise, strength), float(some.mean()) if len(some) else 0.0, tau,
    )  # fmt: skip


def step(state: Sloped, stats: Stats, n: F8, heard: Mask, strength: float) -> Sloped:
    """New slopes and biases with their spreads, then precisions and the prior of y, from the sums of a pass."""
    gap, square, v, gap_y, y1, y2 = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT, GAP_Y, SUM_Y, SUM_Y2))
    lines = Lines(state, stats, n, heard)
    s_spread, b_spread = state.slope_spread, state.bias_spread
    if heard.any():
        s_spread = settled(lambda spread: lines.mean_squares(spread, b_spread)[0], s_spread)
        b_spread = settled(lambda spread: lines.mean_squares(s_spread, spread)[1], b_spread)
    slope, bias, s_doubt, b_doubt, both = lines.under(s_spread, b_spread)
    ds, db = slope - state.slope, bias - state.bias
    error = square - 2 * ds * gap_y - 2 * db * gap + ds**2 * y2 + 2 * ds * db * y1 + n * db**2
    doubt = slope**2 * v + s_doubt * (y2 + v) + 2 * both * y1 + n * b_doubt
    precision = state.precision.update(n, np.maximum(error, 0.0) + doubt, heard, strength)
    count, first, second = stats.tasks[:3]
    mu = float(first / count) if count else state.mu
    tau = max(float(second / count) - mu**2, FLOOR) if count else state.tau
    return Sloped(slope, bias, s_doubt, b_doubt, both, s_spread, b_spread, precision, mu, tau)


class Lines:
    """The workers' lines by the sums of a pass, under any spreads of slopes and biases."""

    def __init__(self, state: Sloped, stats: Stats, n: F8, heard: Mask) -> None:
        gap, v, gap_y, y1, y2 = (stats.workers[:, k] for k in (GAP, DOUBT, GAP_Y, SUM_Y, SUM_Y2))
        q = state.precision.mean
        self.heard = heard
        self.ss, self.sb, self.bb = q * (y2 + v), q * y1, q * n
        self.right_s = q * (gap_y + state.slope * y2 + state.bias * y1)
        self.right_b = q * (gap + state.slope * y1 + state.bias * n)

    def under(self, s_spread: float, b_spread: float) -> tuple[F8, F8, F8, F8, F8]:
        """Slopes, biases, their variances and their covariance."""
        ss, bb = self.ss + 1 / s_spread, self.bb + 1 / b_spread
        det = ss * bb - self.sb**2
        s_doubt, b_doubt, both = bb / det, ss / det, -self.sb / det
        right_s = self.right_s + 1 / s_spread
        slope = np.where(self.heard, s_doubt * right_s + both * self.right_b, 1.0)
        bias = np.where(self.heard, both * right_s + b_doubt * self.right_b, 0.0)
        return slope, bias, s_doubt, b_doubt, both

    def mean_squares(self, s_spread: float, b_spread: float) -> tuple[float, float]:
        """Mean squares of slopes off one and of biases."""
        slope, bias, s_doubt, b_doubt, _ = self.under(s_spread, b_spread)
        return float(((slope - 1) ** 2 + s_doubt)[self.heard].mean()), float((bias**2 + b_doubt)[self.heard].mean())


def regauged(state: Sloped, heard: Mask) -> Sloped:
    """The same fit with y measured so that slopes have mean one and biases lie nearest to zero.

    Only s y + b is seen and the prior of y is free: y -> c y + d with s -> s / c, b -> b - (s / c) d costs nothing.
    The c and d that bring slopes and biases nearest to their priors are a mean slope and a regression; EM alone would
    take hundreds of rounds to get there.
    """
    c = float(state.slope[heard].mean()) if heard.any() else 0.0
    if not 0.1 < c < 10:  # nobody knows which way the scale goes
        return state
    slope, s_doubt, both = state.slope / c, state.slope_doubt / c**2, state.both / c
    d = float((slope * state.bias + both)[heard].sum() / (slope**2 + s_doubt)[heard].sum())
    slope, bias = np.where(heard, slope, 1.0), np.where(heard, state.bias - slope * d, 0.0)
    b_doubt, both = state.bias_doubt - 2 * d * both + d**2 * s_doubt, both - d * s_doubt
    s_spread = max(float(((slope - 1) ** 2 + s_doubt)[heard].mean()), FLOOR)
    b_spread = max(float((bias**2 + b_doubt)[heard].mean()), FLOOR)
    return replace(
        state, slope=slope, bias=bias, slope_doubt=s_doubt, bias_doubt=b_doubt, both=both, slope_spread=s_spread,
        bias_spread=b_spread, mu=c * state.mu + d, tau=c**2 * state.tau,
    )  # fmt: skip


def rows_bound(state: Sloped, stats: Stats, n: F8) -> float:
    """The part of the evidence bound that speaks of the answers, tasks integrated out; E[log q] is the precisions'."""
    square, y1, y2 = (stats.workers[:, k] for k in (SQUARE, SUM_Y, SUM_Y2))
    error = square + state.slope_doubt * y2 + 2 * state.both * y1 + n * state.bias_doubt
    return float(stats.tasks[3]) - 0.5 * float((state.precision.mean * error).sum() + LOG_2PI * n.sum())


def workers_bound(state: Sloped, n: F8, heard: Mask) -> float:
    """The part of the evidence bound that speaks of the workers."""
    det = state.slope_doubt * state.bias_doubt - state.both**2
    s2, b2 = (state.slope - 1) ** 2 + state.slope_doubt, state.bias**2 + state.bias_doubt
    gain = np.log(det / (state.slope_spread * state.bias_spread)) + 2 - s2 / state.slope_spread - b2 / state.bias_spread
    return 0.5 * float(gain[heard].sum()) + state.precision.bound(n, heard)


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
