"""Gaussian model: a bias and a precision for each worker, drawn from one population.

    answer = y + b_m + noise,   b_m ~ N(0, s_b²),   noise ~ N(0, 1 / q_m),   q_m ~ Gamma(a, a s0²),   y flat

Variational EM over y, b and q (exact means of y and b given q); s_b², s0² and a >= 10 are fitted. The trace is the
evidence lower bound. It never decreases while the cap on precisions is constant; the cap changes only between stages.
After Raykar et al. (2010), JMLR 11, 1297-1322, whose plain model is `gaussian_plain`. The hierarchy and the cap keep
workers who always give the same answer from dominating the estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ....core.arrays import F8, Mask
from ....em.loop import climb
from .passes import COMPILED_FROM, DOUBT, GAP, LOG_2PI, SQUARE, Message, PassStats, ShardedRows, sweep
from .precision import MOST, Precision
from .rows import (
    Linear,
    NumberFit,
    NumberRows,
    answered_prior,
    gold_mask,
    relative_weight,
    standardise,
    unstandardise,
    with_gold,
)
from .simple import pooled_variance
from .stages import FLOOR, fit_in_stages, fixed_point_variance


@dataclass(frozen=True, eq=False)
class WorkerPosterior:
    """Posteriors of the workers' biases N(bias, doubt) and precisions, and the variance of biases in the population."""

    bias: F8
    doubt: F8
    spread: float  # s_b²
    precision: Precision

    def message(self) -> Message:
        """Return the worker parameters for a pass."""
        return Message(self.precision.mean, self.bias)

    def capped(self, cap: float) -> WorkerPosterior:
        """Apply a cap to the precisions."""
        return replace(self, precision=self.precision.capped(cap))

    def log_hyperparameters(self) -> F8:
        """Logarithms of a, s0² and s_b²."""
        return np.log([self.precision.a, self.precision.variance, self.spread])

    def with_hyperparameters(
        self, log_values: F8, stats: PassStats, n: F8, strength: float
    ) -> tuple[WorkerPosterior, PassStats]:
        """Replace the hyperparameters."""
        a, variance, spread = np.exp(log_values)
        precision = self.precision.with_prior(float(np.clip(a, strength, MOST)), float(variance), n)
        return replace(self, spread=max(float(spread), FLOOR), precision=precision), stats

    def updated(self, stats: PassStats, n: F8, active: Mask, strength: float) -> WorkerPosterior:
        """Update the biases with their variance, then the precisions, from the statistics of a pass."""
        gap, square, v = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT))

        def mean_square(spread: float) -> float:
            bias, doubt = biases(self, stats, n, active, spread)
            return float((bias**2 + doubt)[active].mean())

        spread = fixed_point_variance(mean_square, self.spread) if active.any() else self.spread
        bias, doubt = biases(self, stats, n, active, spread)
        moved = bias - self.bias
        error = np.maximum(square - 2 * moved * gap + n * moved**2, 0.0) + v + n * doubt
        return WorkerPosterior(bias, doubt, spread, self.precision.update(n, error, active, strength))

    def centred(self, active: Mask) -> WorkerPosterior:
        """Centre the biases.

        Only y + b is identified and the prior of y is flat, so moving a constant between them is free and brings the
        biases closer to their prior. EM alone would need thousands of iterations for it.
        """
        if not active.any():
            return self
        bias = np.where(active, self.bias - self.bias[active].mean(), 0.0)
        return replace(self, bias=bias, spread=max(float((bias**2 + self.doubt)[active].mean()), FLOOR))

    def rows_bound(self, stats: PassStats, n: F8) -> float:
        """Part of the evidence bound that depends on the answers, with the tasks integrated out; without E[log q]."""
        square = stats.workers[:, SQUARE] + n * self.doubt
        return float(stats.tasks[3]) - 0.5 * float((self.precision.mean * square).sum() + LOG_2PI * n.sum())

    def workers_bound(self, n: F8, active: Mask) -> float:
        """Part of the evidence bound that depends on the workers only."""
        b2 = (self.bias**2 + self.doubt)[active]
        biases = 0.5 * float((np.log(self.doubt[active] / self.spread) + 1 - b2 / self.spread).sum())
        return biases + self.precision.bound(n, active)


def gaussian(
    rows: NumberRows,
    gold: F8 | None = None,
    *,
    slope: bool = False,
    strength: float = 10.0,
    cap: float = 4.0,
    max_iter: int = 500,
    tol: float = 1e-7,
    shards: int = 1,
) -> NumberFit:
    """Fit the hierarchical model.

    Args:
        rows: The answers.
        gold: Known values, NaN where unknown.
        slope: Also fit slopes.
        strength: Minimum shape a of the prior of the precisions.
        cap: Highest precision relative to the median.
        max_iter: Maximum number of passes.
        tol: Smallest increase of the objective per answer at which iterations continue.
        shards: Number of shards of the rows.
    """
    if slope:
        from .slopes import sloped

        return sloped(rows, gold, strength=strength, cap=cap, max_iter=max_iter, tol=tol, shards=shards)
    rows, gold, scale = standardise(rows.present(), gold)
    n = rows.per_worker
    state = start(rows, gold, n, strength)
    staged = fit_in_stages(rows, gold, state, strength=strength, cap=cap, max_iter=max_iter, tol=tol, shards=shards)
    fit = describe(rows, gold, staged.state, n, staged.trace, staged.converged)
    return unstandardise(staged.completed(fit), scale)


def start(rows: NumberRows, gold: F8 | None, n: F8, strength: float) -> WorkerPosterior:
    """Start without biases and with one common variance."""
    mean = with_gold(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    noise = pooled_variance(rows, mean)
    precision = Precision.start(n, noise, strength)
    spread = max(noise / 4, FLOOR)
    doubt = 1 / (1 / spread + n * precision.mean)
    return WorkerPosterior(np.zeros(rows.n_workers), doubt, spread, precision)


def biases(state: WorkerPosterior, stats: PassStats, n: F8, active: Mask, spread: float) -> tuple[F8, F8]:
    """Posterior means and variances of the biases given their variance in the population."""
    q = state.precision.mean
    doubt = 1 / (1 / spread + n * q)
    # The gap is relative to the old bias.
    return np.where(active, doubt * q * (stats.workers[:, GAP] + n * state.bias), 0.0), doubt


def describe(rows: NumberRows, gold: F8 | None, state: WorkerPosterior, n: F8, trace: F8, converged: bool) -> NumberFit:
    """Estimates under the fitted parameters. The variance of a task includes the uncertainty of the biases."""
    active = rows.per_worker > 0
    q = state.precision.mean
    crowd = float(q[active].mean()) if active.any() else 1.0
    q = np.where(active, q, crowd)
    doubt = np.where(active, state.doubt, state.spread)
    no_answers = (0.0, 1.0)
    mean, _ = Linear(q, q, q * state.bias, 0.0, 0.0, doubt, no_answers).predict(rows)
    prior = answered_prior(with_gold(mean, gold), rows.per_task > 0)
    linear = Linear(q, q, q * state.bias, 0.0, 0.0, doubt, prior)
    mean, variance = linear.predict(rows)
    mean, variance = with_gold(mean, gold), np.where(gold_mask(gold, rows.n_tasks), 0.0, variance)
    noise, free = state.precision.described(n, active)
    extra = {
        "linear": linear, "bias_variance": state.spread, "bias_doubt": doubt, "strength": state.precision.a,
        "noise": state.precision.variance, "cap": state.precision.cap, "precision": q, "strength_of_spread": free,
    }  # fmt: skip
    ones = np.ones(rows.n_workers)
    return NumberFit("gaussian", mean, variance, state.bias, np.sqrt(noise), ones, relative_weight(q, rows), trace,
                     len(trace), converged, extra)  # fmt: skip


# ----------------------------------------------------------------
# The plain Gaussian model: free biases, one weak prior for all variances, maximum a posteriori estimation by EM.
#     y ~ N(mu, t²),   answer = y + b_m + noise of variance v_m,   v_m ~ InverseGamma(1, 0.1 var(answers))
#
# Raykar et al. (2010), JMLR 11, 1297-1322. The objective is the log-likelihood with the tasks integrated out plus the
# log prior of the variances; it never decreases. Workers who always give the same answer can dominate it.

PLAIN_GAUSSIAN_FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class PlainParams:
    """bias[worker], noise[worker] (variances), and the prior N(mu, tau) of the tasks."""

    bias: F8
    noise: F8
    mu: float
    tau: float


@dataclass(frozen=True, eq=False)
class PlainSweepStats:
    """Statistics of a pass, and the parameters under which they were computed."""

    stats: PassStats
    under: PlainParams

    def extrapolate(self, first: PlainSweepStats, second: PlainSweepStats) -> PlainSweepStats:  # noqa: ARG002
        """Return the last pass: this model is not accelerated."""
        return second


@dataclass(frozen=True, eq=False)
class PlainModel:
    """The plain model of the rows; fields as in `HierarchicalModel`."""

    rows: ShardedRows
    n: F8
    active: Mask
    strength: float
    share: float
    has_gold: bool

    def sweep(self, params: PlainParams) -> tuple[PlainSweepStats, float]:
        """Run a pass; return its statistics and the log-likelihood with the tasks integrated out."""
        stats = self.rows.accumulate(Message(1 / params.noise, params.bias, params.mu, 1 / params.tau))
        square = stats.workers[:, SQUARE] @ (1 / params.noise)
        likelihood = stats.tasks[3] - 0.5 * (self.n @ (np.log(params.noise) + LOG_2PI) + square)
        return PlainSweepStats(stats, params), float(likelihood)

    def log_prior(self, params: PlainParams) -> float:
        """Log density of the variances under their inverse gamma prior."""
        return float((-(self.strength + 1) * np.log(params.noise) - self.share / params.noise)[self.active].sum())

    def maximise(self, sweep_stats: PlainSweepStats) -> PlainParams:
        """Update biases, variances and the prior of the tasks from the statistics of a pass."""
        stats, params, n, active = sweep_stats.stats, sweep_stats.under, self.n, self.active
        gap, square, doubt = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT))
        moved = np.where(active, gap / np.maximum(n, 1e-300), 0.0)
        bias, mu, tau = params.bias + moved, params.mu, params.tau
        error = np.maximum(square - 2 * moved * gap + n * moved**2, 0.0) + doubt
        noise = (error + 2 * self.share) / (n + 2 * self.strength + 2)
        count, first, second = stats.tasks[:3]
        if count:
            mu, tau = float(first / count), max(float(second / count - (first / count) ** 2), PLAIN_GAUSSIAN_FLOOR)
        if not self.has_gold and active.any():
            middle = float(bias[active].mean())  # only y + b is identified
            bias, mu = np.where(active, bias - middle, 0.0), mu + middle
        return PlainParams(bias, np.where(active, noise, self.share / (self.strength + 1)), mu, tau)


def gaussian_plain(
    rows: NumberRows,
    gold: F8 | None = None,
    *,
    strength: float = 1.0,
    share: float = 0.1,
    max_iter: int = 500,
    tol: float = 1e-7,
    shards: int = 1,
) -> NumberFit:
    """Fit the plain model. The prior of the variances is InverseGamma(strength, share * variance of the answers)."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, active = rows.per_worker, rows.per_worker > 0
    has_gold = bool(gold_mask(gold, rows.n_tasks).any())
    model = PlainModel(ShardedRows.of(rows, gold, shards), n, active, strength, share, has_gold)
    per = max(float(n.sum()), 1.0)
    climbed = climb(model, model.sweep, plain_gaussian_start(rows, gold), max_iter=max_iter, tol=tol, per=per)
    return unstandardise(plain_gaussian_describe(rows, gold, climbed.params, climbed.trace, climbed.converged), scale)


def plain_gaussian_start(rows: NumberRows, gold: F8 | None) -> PlainParams:
    """Start without biases, with one common variance and the moments of the task means."""
    mean = with_gold(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    answered_means = mean[rows.per_task > 0]
    mu, tau = (
        (float(answered_means.mean()), max(float(answered_means.var()), PLAIN_GAUSSIAN_FLOOR))
        if len(answered_means)
        else (0.0, 1.0)
    )
    return PlainParams(np.zeros(rows.n_workers), np.full(rows.n_workers, pooled_variance(rows, mean)), mu, tau)


def plain_gaussian_describe(
    rows: NumberRows, gold: F8 | None, params: PlainParams, trace: F8, converged: bool
) -> NumberFit:
    """Estimates under the fitted parameters of the plain model."""
    active, zero = rows.per_worker > 0, np.zeros(rows.n_workers)
    q = 1 / np.where(active, params.noise, float(params.noise[active].mean()) if active.any() else 1.0)
    linear = Linear(q, q, q * params.bias, params.mu, 1 / params.tau, zero, (params.mu, params.tau))
    mean, variance = linear.predict(rows)
    mean, variance = with_gold(mean, gold), np.where(gold_mask(gold, rows.n_tasks), 0.0, variance)
    extra = {"linear": linear, "prior_mean": params.mu, "prior_variance": params.tau, "bias_doubt": zero}
    return NumberFit("gaussian_plain", mean, variance, params.bias, 1 / np.sqrt(q), zero + 1, relative_weight(q, rows),
                     trace, len(trace), converged, extra)  # fmt: skip


# ----------------------------------------------------------------
# The Gaussian model with heavy tails: Student-t noise as a scale mixture with one scale per answer.
#     answer = y + b_m + noise, noise | u ~ N(0, 1 / (u q_m)), u ~ Gamma(df / 2, df / 2), otherwise as above
#
# Variational EM; u is integrated out in the trace, which never decreases. Lange, Little & Taylor (1989),
# doi:10.1080/01621459.1989.10478852.

DF = 5.0


def student(
    rows: NumberRows,
    gold: F8 | None = None,
    *,
    df: float = DF,
    strength: float = 10.0,
    max_iter: int = 500,
    tol: float = 1e-7,
) -> NumberFit:
    """Fit biases and precisions under Student-t noise with `df` degrees of freedom."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, active = rows.per_worker, rows.per_worker > 0
    state = start(rows, gold, n, strength)
    has_gold = bool(gold_mask(gold, rows.n_tasks).any())
    u = np.ones(len(rows))
    trace: list[float] = []
    converged = False
    while len(trace) < max_iter:
        scaled_rows = scaled(rows, u)
        mean, variance, stats = sweep(scaled_rows, gold, state.message(), len(rows) >= COMPILED_FROM)
        size = scaled_rows.per_worker
        state = _step(state, stats, n, size, active, strength)
        if not has_gold:
            middle = float(state.bias[active].mean()) if active.any() else 0.0
            state, mean = state.centred(active), mean + middle
        u, logs = scales(rows, state, mean, variance, df)
        entropy = stats.tasks[3] + 0.5 * float((~np.isnan(mean) & (variance > 0)).sum())
        trace.append(entropy + state.workers_bound(n, active) + logs - 0.5 * LOG_2PI * float(n.sum()))
        if len(trace) > 1 and trace[-1] - trace[-2] < tol * max(float(n.sum()), 1.0):
            converged = True
            break
    fit = describe(scaled(rows, u), gold, state, n, np.array(trace), converged)
    fit.extra.update(df=df)
    return unstandardise(replace(fit, method="student"), scale)


def scaled(rows: NumberRows, u: F8) -> NumberRows:
    """Multiply the weights of the rows by u."""
    return replace(rows, weight=u if rows.weight is None else u * rows.weight)


def scales(rows: NumberRows, state: WorkerPosterior, mean: F8, variance: F8, df: float) -> tuple[F8, float]:
    """E[u] of each row, and the sum of the log normalisers."""
    from scipy.special import gammaln

    m, t = rows.worker, rows.task
    distance = state.precision.mean[m] * ((rows.value - mean[t] - state.bias[m]) ** 2 + variance[t] + state.doubt[m])
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) + df / 2 * np.log(df / 2)
    logs = constant - (df + 1) / 2 * np.log((df + distance) / 2)
    total = logs.sum() if rows.weight is None else logs @ rows.weight
    return np.asarray((df + 1) / (df + distance)), float(total)


def _step(
    state: WorkerPosterior, stats: PassStats, n: F8, size: F8, active: np.ndarray, strength: float
) -> WorkerPosterior:
    """Like `updated`, but a worker's answers count `size` for bias and error and n for the precision."""
    rough = state.updated(stats, size, active, strength)
    gap, square, v = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT))
    moved = rough.bias - state.bias
    error = np.maximum(square - 2 * moved * gap + size * moved**2, 0.0) + v + size * rough.doubt
    return replace(rough, precision=state.precision.update(n, error, active, strength))
