"""Aggregation of probabilities: pools, and workers as Gaussian signals in log odds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...core.arrays import F8
from ..numbers.maths.rows import NumberRows
from ..numbers.maths.simple import trimmed_means

# Answers are clipped to this distance from 0 and 1 before log odds are taken.
CLIP = 0.02


@dataclass(frozen=True, eq=False)
class ProbabilityFit:
    """Estimates of the tasks and parameters of the workers.

    Args:
        probability: Estimate of each task.
        shift: Mean answer of each worker in log odds, independent of the truth.
        gap: How far a true task moves a worker's log odds up, and an untrue one down.
        spread: Standard deviation of each worker's residuals.
        weight: Weight of each worker.
        design: Design effect: how many times the evidence of a task is overcounted because workers err together.
        share: Share of true tasks.
        trace: Objective by iteration.
        stage: Stage of each iteration.
        n_iter: Number of iterations.
        converged: Whether the iterations converged.
    """

    probability: F8
    shift: F8
    gap: F8
    spread: F8
    weight: F8
    design: float = 1.0
    share: float = 0.5
    trace: F8 = field(default_factory=lambda: np.empty(0))
    stage: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 1
    converged: bool = True


def log_odds(p: F8, clip: float = CLIP) -> F8:
    """log p / (1 - p), with p clipped."""
    p = np.clip(p, clip, 1 - clip)
    return np.asarray(np.log(p) - np.log1p(-p))


def chance(odds: F8) -> F8:
    """Convert log odds to probabilities."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * odds)))


def in_log_odds(rows: NumberRows, clip: float) -> NumberRows:
    """Convert the answers to log odds."""
    return rows.with_value(log_odds(rows.value, clip))


def pooled(rows: NumberRows, values: F8, weight: F8 | None = None) -> F8:
    """Mean of values[row] by task, weighted by worker. Tasks without answers get the overall mean."""
    w = np.ones(len(values)) if weight is None else weight[rows.worker]
    total, mass = rows.task_sum(w * values), rows.task_sum(w)
    overall_mean = total.sum() / mass.sum() if mass.sum() > 0 else 0.0
    return np.asarray(np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), overall_mean))


# ----------------------------------------------------------------
# Pools without a model: mean, median, mean of log odds, and weighted means of log odds.
# The mean of log odds is extremised (multiplied by a factor above 1), because no worker has the information of all the
# others: Satopää et al. (2014), doi:10.1016/j.ijforecast.2013.09.009; Baron et al. (2014), doi:10.1287/deca.2014.0293.

# Bounds of the factor when it is fitted to gold, and minimum number of gold tasks.
FACTOR_BOUNDS, MIN_GOLD = (0.25, 4.0), 20
# Weights by correlation: weight of the median correlation in a worker's, in answers; smallest correlation; power.
MEDIAN_WEIGHT, MIN_CORRELATION, POWER = 10.0, 0.05, 2.0


def mean_pool(rows: NumberRows) -> F8:
    """Mean of each task's probabilities."""
    return pooled(rows, rows.value)


def median_pool(rows: NumberRows) -> F8:
    """Weighted median of each task's probabilities. Tasks without answers get the median of all answers."""
    out = trimmed_means(rows.present(), 0.5)
    out[rows.per_task <= 0] = float(np.median(rows.value)) if len(rows) else 0.5
    return out


def odds_pool(rows: NumberRows, clip: float, weight: F8 | None = None) -> F8:
    """Weighted mean of each task's log odds."""
    return pooled(rows, in_log_odds(rows, clip).value, weight)


def fitted_factor(odds: F8, truth: F8) -> float:
    """Factor on log odds that maximises the likelihood of known outcomes."""
    from scipy.optimize import minimize_scalar

    sign = np.where(truth > 0.5, 1.0, -1.0)
    solution = minimize_scalar(
        lambda log: float(np.logaddexp(0, -sign * np.exp(log) * odds).sum()),
        bounds=(float(np.log(FACTOR_BOUNDS[0])), float(np.log(FACTOR_BOUNDS[1]))),
        method="bounded",
    )
    return float(np.exp(solution.x))


def correlation_weights(rows: NumberRows) -> F8:
    """Weight of each worker: squared correlation of the answers with the mean of the other workers' answers.

    The correlation does not depend on the worker's level, leaves out the worker's own answers, and is shrunk to the
    median worker's where there are few answers.
    """
    n, per_task = rows.per_worker, rows.per_task[rows.task]
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    others_weight = per_task - weight
    has_others = others_weight > 1e-9
    others = np.where(
        has_others,
        (rows.task_sum(rows.value)[rows.task] - weight * rows.value) / np.where(has_others, others_weight, 1.0),
        np.nan,
    )
    shared = rows.take(np.flatnonzero(has_others))
    x, y = shared.value, others[has_others]
    count = np.maximum(shared.per_worker, 1e-300)
    dx = x - (shared.worker_sum(x) / count)[shared.worker]
    dy = y - (shared.worker_sum(y) / count)[shared.worker]
    spread = np.sqrt(shared.worker_sum(dx**2) * shared.worker_sum(dy**2))
    r = np.where(spread > 1e-12, shared.worker_sum(dx * dy) / np.where(spread > 1e-12, spread, 1.0), 0.0)
    z = np.arctanh(np.clip(r, -0.95, 0.95))
    is_reliable = shared.per_worker > 2
    median_z = float(np.median(z[is_reliable])) if is_reliable.any() else 0.5
    z = (np.where(is_reliable, z * n, 0.0) + MEDIAN_WEIGHT * median_z) / (np.where(is_reliable, n, 0.0) + MEDIAN_WEIGHT)
    return np.asarray(np.maximum(np.tanh(z), MIN_CORRELATION) ** POWER)


def plain_fit(probability: F8, n_workers: int, weight: F8 | None = None) -> ProbabilityFit:
    """Build a fit without worker parameters, apart from weights."""
    none = np.zeros(n_workers)
    return ProbabilityFit(probability, none, np.ones(n_workers), none, np.ones(n_workers) if weight is None else weight)


# ----------------------------------------------------------------
# Workers as signals: log odds are above a worker's shift where the task is true and below it where it is not.
# s = shift_m + gap_m u + noise, u = 1 for a true task and -1 for an untrue one, noise ~ N(0, spread_m²). Shifts, gaps
# and spreads are drawn from one population: (shift, gap) ~ N((shift_0, gap_0), spread² / held), spread² ~ scaled
# inverse chi-square; the population parameters are updated in rounds. EM over the truth of the tasks; the objective
# never decreases within a round.
#
# Workers err together, so the evidence of a task is overcounted. The design effect `design` measures it: the variance
# of the tasks' summed evidence around its expectation by class, relative to that of independent workers.

# Weight of the population in each worker's parameters, in answers; number of rounds; prior of the share of true tasks.
PRIOR_WEIGHT, ROUNDS, SHARE_PRIOR = 30.0, 6, 1.0
_LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class SignalPopulation:
    """Population from which the workers are drawn."""

    shift: float
    gap: float
    variance: float


@dataclass(frozen=True, eq=False)
class SignalParams:
    """Parameters of each worker, and the share of true tasks."""

    shift: F8
    gap: F8
    variance: F8
    share: float


def signals(
    rows: NumberRows, gold: F8 | None, clip: float, prior_weight: float, max_iter: int, tol: float
) -> ProbabilityFit:
    """Fit by rounds of EM; `gold` is NaN where the outcome is unknown."""
    s = in_log_odds(rows, clip)
    start = pooled(s, s.value)
    active = s.per_task > 0
    true = chance(start - float(np.median(start[active])) if active.any() else start)
    true = _with_gold(true, gold)
    spread = max(float(s.value.var()) if len(s) else 1.0, _LEAST)
    crowd = SignalPopulation(float(s.value.mean()) if len(s) else 0.0, 0.5 * np.sqrt(spread), spread)
    trace: list[float] = []
    stage: list[int] = []
    converged = False
    params = _maximise(s, true, crowd, prior_weight)
    for round_ in range(ROUNDS):
        last = -np.inf
        converged = False
        for _ in range(max_iter):
            odds = evidence(s, params)
            objective = _objective(s, params, crowd, prior_weight, odds, gold)
            trace.append(objective)
            stage.append(round_)
            true = _with_gold(chance(odds), gold)
            converged = objective - last <= tol * max(abs(objective), 1.0)
            if converged:
                break
            last = objective
            params = _maximise(s, true, crowd, prior_weight)
        active = s.per_worker > 0
        if active.any():
            crowd = SignalPopulation(
                *(float(np.average(v[active])) for v in (params.shift, params.gap, params.variance))
            )
            params = _maximise(s, true, crowd, prior_weight)
    odds = evidence(s, params)
    design = _design(s, params, odds, gold)
    weight = params.gap / params.variance
    return ProbabilityFit(
        _with_gold(chance(_tempered(odds, params.share, design)), gold),
        params.shift, params.gap, np.sqrt(params.variance), weight / max(float(np.abs(weight).mean()), 1e-300),
        design, params.share, np.array(trace), np.array(stage, dtype=np.float64), len(trace), converged,
    )  # fmt: skip


def signals_posterior(rows: NumberRows, fit: ProbabilityFit, clip: float) -> F8:
    """Probability of each task given rows under a fit."""
    s = in_log_odds(rows, clip)
    params = SignalParams(fit.shift, fit.gap, np.maximum(fit.spread**2, _LEAST), fit.share)
    return chance(_tempered(evidence(s, params), fit.share, fit.design))


def evidence(rows: NumberRows, params: SignalParams) -> F8:
    """Log odds of each task if workers err independently."""
    message = 2 * params.gap[rows.worker] * (rows.value - params.shift[rows.worker]) / params.variance[rows.worker]
    return np.asarray(rows.task_sum(message) + np.log(params.share) - np.log1p(-params.share))


def _tempered(odds: F8, share: float, design: float) -> F8:
    prior = np.log(share) - np.log1p(-share)
    return np.asarray(prior + (odds - prior) / design)


def _with_gold(true: F8, gold: F8 | None) -> F8:
    return true if gold is None else np.where(np.isnan(gold), true, gold)


def _maximise(rows: NumberRows, true: F8, crowd: SignalPopulation, prior_weight: float) -> SignalParams:
    """Maximum a posteriori worker parameters given the tasks: ridge regressions on u, with E[u²] = 1."""
    u = (2 * true - 1)[rows.task]
    n, su = rows.per_worker, rows.worker_sum(u)
    ss, sus = rows.worker_sum(rows.value), rows.worker_sum(u * rows.value)
    shift, gap = ss + prior_weight * crowd.shift, sus + prior_weight * crowd.gap
    det = (n + prior_weight) ** 2 - su**2
    a, b = ((n + prior_weight) * shift - su * gap) / det, ((n + prior_weight) * gap - su * shift) / det
    square = rows.worker_sum(rows.value**2) - 2 * a * ss - 2 * b * sus + n * (a**2 + b**2) + 2 * a * b * su
    distance = prior_weight * ((a - crowd.shift) ** 2 + (b - crowd.gap) ** 2)
    # Mode of the joint density; see `_log_prior`.
    variance = (np.maximum(square, 0.0) + distance + prior_weight * crowd.variance) / (n + prior_weight + 4)
    answered = rows.per_task > 0
    mass = float(answered.sum())
    share = (float(true[answered].sum()) + SHARE_PRIOR) / (mass + 2 * SHARE_PRIOR)
    return SignalParams(a, b, np.maximum(variance, _LEAST), share)


def _objective(
    rows: NumberRows, params: SignalParams, crowd: SignalPopulation, prior_weight: float, odds: F8, gold: F8 | None
) -> float:
    """Log density of the answers and the worker parameters, the objective of EM."""
    gap, variance = params.gap[rows.worker], params.variance[rows.worker]
    low = rows.value - params.shift[rows.worker] + gap
    untrue = rows.task_sum(-0.5 * (low**2 / variance + np.log(2 * np.pi * variance)))
    prior = np.log1p(-params.share)
    loglik = untrue + prior + np.logaddexp(0.0, odds)
    if gold is not None:
        gold_loglik = untrue + prior + np.where(gold > 0.5, odds, 0.0)
        loglik = np.where(np.isnan(gold), loglik, gold_loglik)
    active = rows.per_worker > 0
    return float(loglik[rows.per_task > 0].sum()) + _log_prior(params, crowd, prior_weight, active)


def _log_prior(
    params: SignalParams, crowd: SignalPopulation, prior_weight: float, active: npt.NDArray[np.bool_]
) -> float:
    distance = prior_weight * ((params.shift - crowd.shift) ** 2 + (params.gap - crowd.gap) ** 2)
    log = -(2 + prior_weight / 2) * np.log(params.variance) - (distance + prior_weight * crowd.variance) / (
        2 * params.variance
    )
    return float(log[active].sum()) + SHARE_PRIOR * float(np.log(params.share) + np.log1p(-params.share))


def _design(rows: NumberRows, params: SignalParams, odds: F8, gold: F8 | None) -> float:
    """Design effect: how many times the evidence of a task is overcounted; 1 for independent workers."""
    prior = np.log(params.share) - np.log1p(-params.share)
    information = 4 * params.gap**2 / params.variance
    variance = rows.task_sum(information[rows.worker])
    true = _with_gold(chance(odds), gold)
    gap = odds - prior
    observed = true * (gap - variance / 2) ** 2 + (1 - true) * (gap + variance / 2) ** 2
    total = float(variance.sum())
    return max(1.0, float(observed[variance > 0].sum()) / total) if total > 0 else 1.0


def gaps_by_others(rows: NumberRows, fit: ProbabilityFit, clip: float) -> tuple[F8, F8]:
    """Gap of each worker relative to the estimates by the other workers, and its standard error.

    The estimates leave out the worker's own answers, and the gap is not shrunk: this is for assessing workers.
    """
    s = in_log_odds(rows, clip)
    params = SignalParams(fit.shift, fit.gap, np.maximum(fit.spread**2, _LEAST), fit.share)
    prior = np.log(fit.share) - np.log1p(-fit.share)
    contribution = 2 * params.gap[s.worker] * (s.value - params.shift[s.worker]) / params.variance[s.worker]
    if s.weight is not None:
        contribution = contribution * s.weight
    others = (evidence(s, params)[s.task] - contribution - prior) / fit.design + prior
    u = 2 * chance(others) - 1
    n = np.maximum(s.per_worker, 1e-300)
    du = u - (s.worker_sum(u) / n)[s.worker]
    ds = s.value - (s.worker_sum(s.value) / n)[s.worker]
    square = s.worker_sum(du**2)
    is_reliable = (s.per_worker > 2) & (square > 1e-9)
    gap = np.where(is_reliable, s.worker_sum(du * ds) / np.where(is_reliable, square, 1.0), np.nan)
    residual = s.worker_sum((ds - np.nan_to_num(gap)[s.worker] * du) ** 2)
    error = np.sqrt(residual / np.maximum(s.per_worker - 2, 1) / np.where(is_reliable, square, np.nan))
    return np.asarray(gap), np.asarray(error)
