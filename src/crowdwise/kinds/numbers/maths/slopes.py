"""The Gaussian model with slopes: some workers use the whole scale, some a part of it, some reverse it.

    answer = s_m y + b_m + noise,   y ~ N(mu, t²),   s_m ~ N(1, s_s²),   b_m ~ N(0, s_b²),   noise as in gaussian.py

Variational EM over y, (s, b) and the precisions; mu, t² and the population variances are fitted. With a flat prior, y
would diverge (slopes near 0 leave it undetermined), so y has a proper prior. Only products s y are identified: at the
end the scale of y is set so that sum q N s² = sum q N s, a weighted mean slope of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ....core.arrays import F8, Mask
from .passes import DOUBT, GAP, GAP_Y, LOG_2PI, SQUARE, SUM_Y, SUM_Y2, Message, PassStats
from .precision import MOST, Precision
from .rows import Linear, NumberFit, NumberRows, gold_mask, relative_weight, standardise, unstandardise, with_gold
from .simple import pooled_variance
from .stages import FLOOR, fit_in_stages, fixed_point_variance


@dataclass(frozen=True, eq=False)
class Sloped:
    """Posterior means and covariances of slopes and biases, their population variances, precisions, prior of y."""

    slope: F8
    bias: F8
    slope_doubt: F8
    bias_doubt: F8
    covariance: F8  # covariance of slope and bias
    slope_spread: float
    bias_spread: float
    precision: Precision
    mu: float
    tau: float  # variance of y

    def message(self) -> Message:
        """Return the worker parameters for a pass."""
        q = self.precision.mean
        a, c = q * (self.slope**2 + self.slope_doubt), q * (self.slope * self.bias + self.covariance)
        return Message(q, self.bias, self.mu, 1 / self.tau, self.slope, a, c)

    def capped(self, cap: float) -> Sloped:
        """Apply a cap to the precisions."""
        return replace(self, precision=self.precision.capped(cap))

    def log_hyperparameters(self) -> F8:
        """Logarithms of a, s0², s_s², s_b² and t²."""
        precision = self.precision
        return np.log([precision.a, precision.variance, self.slope_spread, self.bias_spread, self.tau])

    def with_hyperparameters(
        self, log_values: F8, stats: PassStats, n: F8, strength: float
    ) -> tuple[Sloped, PassStats]:
        """Replace the hyperparameters, and adjust the task statistics to the variance of y."""
        a, variance, slope, bias, tau = np.maximum(np.exp(log_values), FLOOR).tolist()
        precision = self.precision.with_prior(float(np.clip(a, strength, MOST)), variance, n)
        count, first, _, logs = stats.tasks
        tasks = np.array([count, first, count * (tau + (first / max(count, 1.0)) ** 2), logs])
        under = replace(self, slope_spread=slope, bias_spread=bias, tau=tau, precision=precision)
        return under, replace(stats, tasks=tasks)

    def updated(self, stats: PassStats, n: F8, active: Mask, strength: float) -> Sloped:
        """Update slopes and biases with their variances, then precisions and the prior of y, from the statistics."""
        gap, square, v, gap_y, y1, y2 = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT, GAP_Y, SUM_Y, SUM_Y2))
        lines = LinePosteriors(self, stats, n, active)
        s_spread, b_spread = self.slope_spread, self.bias_spread
        if active.any():
            s_spread = fixed_point_variance(lambda spread: lines.mean_squares(spread, b_spread)[0], s_spread)
            b_spread = fixed_point_variance(lambda spread: lines.mean_squares(s_spread, spread)[1], b_spread)
        slope, bias, s_doubt, b_doubt, covariance = lines.under(s_spread, b_spread)
        ds, db = slope - self.slope, bias - self.bias
        error = square - 2 * ds * gap_y - 2 * db * gap + ds**2 * y2 + 2 * ds * db * y1 + n * db**2
        doubt = slope**2 * v + s_doubt * (y2 + v) + 2 * covariance * y1 + n * b_doubt
        precision = self.precision.update(n, np.maximum(error, 0.0) + doubt, active, strength)
        count, first, second = stats.tasks[:3]
        mu = float(first / count) if count else self.mu
        tau = max(float(second / count) - mu**2, FLOOR) if count else self.tau
        return Sloped(slope, bias, s_doubt, b_doubt, covariance, s_spread, b_spread, precision, mu, tau)

    def centred(self, active: Mask) -> Sloped:
        """Transform y so that the slopes have mean one and the biases are closest to zero.

        Only s y + b is identified and the prior of y is free, so y -> c y + d with s -> s / c, b -> b - (s / c) d
        leaves the likelihood unchanged. The c and d that bring slopes and biases closest to their priors are a mean
        slope and a regression coefficient; EM alone would need hundreds of iterations.
        """
        c = float(self.slope[active].mean()) if active.any() else 0.0
        if not 0.1 < c < 10:  # the direction of the scale is undetermined
            return self
        slope, s_doubt, covariance = self.slope / c, self.slope_doubt / c**2, self.covariance / c
        d = float((slope * self.bias + covariance)[active].sum() / (slope**2 + s_doubt)[active].sum())
        slope, bias = np.where(active, slope, 1.0), np.where(active, self.bias - slope * d, 0.0)
        b_doubt, covariance = self.bias_doubt - 2 * d * covariance + d**2 * s_doubt, covariance - d * s_doubt
        s_spread = max(float(((slope - 1) ** 2 + s_doubt)[active].mean()), FLOOR)
        b_spread = max(float((bias**2 + b_doubt)[active].mean()), FLOOR)
        return replace(
            self, slope=slope, bias=bias, slope_doubt=s_doubt, bias_doubt=b_doubt, covariance=covariance,
            slope_spread=s_spread, bias_spread=b_spread, mu=c * self.mu + d, tau=c**2 * self.tau,
        )  # fmt: skip

    def rows_bound(self, stats: PassStats, n: F8) -> float:
        """Part of the evidence bound that depends on the answers, with the tasks integrated out; without E[log q]."""
        square, y1, y2 = (stats.workers[:, k] for k in (SQUARE, SUM_Y, SUM_Y2))
        error = square + self.slope_doubt * y2 + 2 * self.covariance * y1 + n * self.bias_doubt
        return float(stats.tasks[3]) - 0.5 * float((self.precision.mean * error).sum() + LOG_2PI * n.sum())

    def workers_bound(self, n: F8, active: Mask) -> float:
        """Part of the evidence bound that depends on the workers only."""
        det = self.slope_doubt * self.bias_doubt - self.covariance**2
        s2, b2 = (self.slope - 1) ** 2 + self.slope_doubt, self.bias**2 + self.bias_doubt
        gain = np.log(det / (self.slope_spread * self.bias_spread)) + 2 - s2 / self.slope_spread - b2 / self.bias_spread
        return 0.5 * float(gain[active].sum()) + self.precision.bound(n, active)


def sloped(
    rows: NumberRows, gold: F8 | None, *, strength: float, cap: float, max_iter: int, tol: float, shards: int
) -> NumberFit:
    """Fit slopes, biases and precisions."""
    rows, gold, scale = standardise(rows.present(), gold)
    state = start(rows, gold, rows.per_worker, strength)
    staged = fit_in_stages(rows, gold, state, strength=strength, cap=cap, max_iter=max_iter, tol=tol, shards=shards)
    return unstandardise(staged.completed(describe(rows, gold, staged.state, staged.trace, staged.converged)), scale)


def start(rows: NumberRows, gold: F8 | None, n: F8, strength: float) -> Sloped:
    """Start with slopes of one, no biases, one common variance and the moments of the task means."""
    mean = with_gold(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    noise = pooled_variance(rows, mean)
    answered_means = mean[rows.per_task > 0]
    tau = max(float(answered_means.var()) if len(answered_means) else 1.0, 1e-3)
    zero = np.zeros(rows.n_workers)
    return Sloped(
        zero + 1, zero, zero + 0.05, zero + noise / 8, zero, 0.1, max(noise / 4, FLOOR),
        Precision.start(n, noise, strength), float(answered_means.mean()) if len(answered_means) else 0.0, tau,
    )  # fmt: skip


class LinePosteriors:
    """Posterior slopes and biases of the workers as a function of their population variances."""

    def __init__(self, state: Sloped, stats: PassStats, n: F8, active: Mask) -> None:
        gap, v, gap_y, y1, y2 = (stats.workers[:, k] for k in (GAP, DOUBT, GAP_Y, SUM_Y, SUM_Y2))
        q = state.precision.mean
        self.active = active
        self.ss, self.sb, self.bb = q * (y2 + v), q * y1, q * n
        self.right_s = q * (gap_y + state.slope * y2 + state.bias * y1)
        self.right_b = q * (gap + state.slope * y1 + state.bias * n)

    def under(self, s_spread: float, b_spread: float) -> tuple[F8, F8, F8, F8, F8]:
        """Slopes, biases, their variances and their covariance, given the population variances."""
        ss, bb = self.ss + 1 / s_spread, self.bb + 1 / b_spread
        det = ss * bb - self.sb**2
        s_doubt, b_doubt, covariance = bb / det, ss / det, -self.sb / det
        right_s = self.right_s + 1 / s_spread
        slope = np.where(self.active, s_doubt * right_s + covariance * self.right_b, 1.0)
        bias = np.where(self.active, covariance * right_s + b_doubt * self.right_b, 0.0)
        return slope, bias, s_doubt, b_doubt, covariance

    def mean_squares(self, s_spread: float, b_spread: float) -> tuple[float, float]:
        """Mean squares of slopes minus one and of biases."""
        slope, bias, s_doubt, b_doubt, _ = self.under(s_spread, b_spread)
        return float(((slope - 1) ** 2 + s_doubt)[self.active].mean()), float((bias**2 + b_doubt)[self.active].mean())


def describe(rows: NumberRows, gold: F8 | None, state: Sloped, trace: F8, converged: bool) -> NumberFit:
    """Estimates under the fitted parameters, scaled to a mean slope of one."""
    n, active = rows.per_worker, rows.per_worker > 0
    q = state.precision.mean
    q = np.where(active, q, float(q[active].mean()) if active.any() else 1.0)
    stretch = 1.0
    if gold_mask(gold, rows.n_tasks).sum() < 2:  # gold fixes the scale
        top, low = float((q * n) @ state.slope**2), float((q * n) @ state.slope)
        stretch = float(np.clip(top / low, 0.1, 10.0)) if low > 0 else 1.0
    # r = s y + b with y = mu + (z - mu) / stretch: slope s / stretch, bias b + s mu (1 - 1 / stretch).
    slope = state.slope / stretch
    bias = state.bias + (state.slope - slope) * state.mu
    s_doubt = np.where(active, state.slope_doubt, state.slope_spread) / stretch**2
    turn = 1 - 1 / stretch
    covariance = (np.where(active, state.covariance, 0.0) + s_doubt * stretch**2 * state.mu * turn) / stretch
    doubt = np.where(active, state.bias_doubt, state.bias_spread)
    tau = state.tau * stretch**2
    a, c = q * (slope**2 + s_doubt), q * (slope * bias + covariance)
    linear = Linear(a, q * slope, c, state.mu, 1 / tau, doubt, (state.mu, tau))
    mean, variance = linear.predict(rows)
    mean, variance = with_gold(mean, gold), np.where(gold_mask(gold, rows.n_tasks), 0.0, variance)
    noise, free = state.precision.described(n, active)
    extra = {
        "linear": linear, "prior_mean": state.mu, "prior_variance": tau, "slope_doubt": s_doubt, "bias_doubt": doubt,
        "slope_variance": state.slope_spread, "bias_variance": state.bias_spread, "strength": state.precision.a,
        "noise": state.precision.variance, "cap": state.precision.cap, "stretch": stretch,
        "precision": q, "strength_of_spread": free,
    }  # fmt: skip
    weight = relative_weight(q * slope, rows)
    return NumberFit("gaussian_slope", mean, variance, bias, np.sqrt(noise), slope, weight, trace, len(trace),
                     converged, extra)  # fmt: skip
