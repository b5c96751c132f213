"""Simple methods: mean, median, trimmed mean, additive model, spectral regression, and iterative weighting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....core.arrays import F8
from .rows import (
    Linear,
    NumberFit,
    NumberRows,
    answered_prior,
    gold_mask,
    relative_weight,
    residual_stats,
    standardise,
    unstandardise,
    with_gold,
)


def mean(rows: NumberRows, gold: F8 | None = None) -> NumberFit:
    """Mean of each task's answers. Its variance is the pooled variance within tasks over the number of answers."""
    rows, gold, scale = standardise(rows.present(), gold)
    n = rows.per_task
    estimate = rows.task_sum(rows.value) / np.maximum(n, 1e-300)
    noise = pooled_variance(rows, estimate)
    prior = answered_prior(estimate, n > 0)
    ones = np.full(rows.n_workers, 1 / noise)
    linear = Linear(ones, ones, np.zeros(rows.n_workers), 0.0, 0.0, np.zeros(rows.n_workers), prior)
    estimate, variance = linear.predict(rows)
    return unstandardise(finish("mean", rows, gold, estimate, variance, {"linear": linear}), scale)


def median(rows: NumberRows, gold: F8 | None = None) -> NumberFit:
    """Weighted median of each task's answers."""
    rows, gold, scale = standardise(rows.present(), gold)
    return unstandardise(_trimmed("median", rows, gold, 0.5), scale)


def trimmed_mean(rows: NumberRows, gold: F8 | None = None, *, share: float = 0.2) -> NumberFit:
    """Mean of each task's answers without the lowest and the highest `share` (0: mean, 0.5: median)."""
    rows, gold, scale = standardise(rows.present(), gold)
    return unstandardise(_trimmed("trimmed_mean", rows, gold, share), scale)


def _trimmed(method: str, rows: NumberRows, gold: F8 | None, share: float) -> NumberFit:
    estimate = trimmed_means(rows, share)
    empty, _ = answered_prior(estimate, rows.per_task > 0)
    return finish(method, rows, gold, estimate, np.full(rows.n_tasks, np.nan), {"share": share, "empty": empty})


def finish(
    method: str, rows: NumberRows, gold: F8 | None, mean: F8, variance: F8, extra: dict[str, object]
) -> NumberFit:
    """Build a fit whose workers are described by their residuals."""
    mean, variance = with_gold(mean, gold), np.where(gold_mask(gold, rows.n_tasks), 0.0, variance)
    bias, spread = residual_stats(rows, mean)
    ones = np.ones(rows.n_workers)
    return NumberFit(method, mean, variance, bias, spread, ones, relative_weight(ones, rows), extra=dict(extra))


def pooled_variance(rows: NumberRows, mean: F8, spent: float | None = None) -> float:
    """Variance of the answers around the estimates, corrected for the degrees of freedom spent (one per task)."""
    square = float(rows.task_sum((rows.value - mean[rows.task]) ** 2).sum())
    total = float(rows.per_task.sum())
    spent = float((rows.per_task > 0).sum()) if spent is None else spent
    if total - spent <= 0:
        return 1.0  # one answer per task carries no information about the noise; values are standardised
    return max(square / (total - spent), 1e-12)


def trimmed_means(rows: NumberRows, share: float) -> F8:
    """Weighted trimmed mean of each task. Tasks without answers get the mean of the others."""
    order = np.lexsort((rows.value, rows.task))
    value, task = rows.value[order], rows.task[order]
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight[order]
    top = np.cumsum(weight)
    total = rows.per_task
    start = np.concatenate([[0.0], top])[rows.offsets[:-1]]
    high = top - start[task]
    low = high - weight
    if share >= 0.5:
        # The weighted median: the mean of the answers at half of the weight.
        half = total[task] / 2
        slack = 1e-12 * total[task]
        part = ((low <= half + slack) & (high >= half - slack)).astype(np.float64)
    else:
        cut = share * total[task]
        part = np.clip(np.minimum(high, total[task] - cut) - np.maximum(low, cut), 0.0, None)
    size = np.bincount(task, weights=part, minlength=rows.n_tasks)
    out = np.bincount(task, weights=part * value, minlength=rows.n_tasks) / np.maximum(size, 1e-300)
    out[total == 0] = out[total > 0].mean() if (total > 0).any() else 0.0
    return out


# ----------------------------------------------------------------
# Two-way additive model: answer = task + worker, by least squares.


def biased_mean(rows: NumberRows, gold: F8 | None = None, *, max_iter: int = 500, tol: float = 1e-10) -> NumberFit:
    """Mean of the answers minus the worker's offset. Without gold, the offsets sum to zero over the answers."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, m = rows.per_task, rows.per_worker
    fixed = gold_mask(gold, rows.n_tasks)
    bias = np.zeros(rows.n_workers)
    estimate = np.zeros(rows.n_tasks)
    trace: list[float] = []
    converged = False
    for _ in range(max_iter):
        estimate = with_gold(rows.task_sum(rows.value - bias[rows.worker]) / np.maximum(n, 1e-300), gold)
        residual = rows.value - estimate[rows.task]
        new = rows.worker_sum(residual) / np.maximum(m, 1e-300)
        if not fixed.any():
            new = np.where(m > 0, new - (m @ new) / max(m.sum(), 1e-300), 0.0)
        trace.append(-float(rows.task_sum((residual - new[rows.worker]) ** 2).sum()))
        moved = float(np.abs(new - bias).max(initial=0.0))
        bias = new
        if moved < tol:
            converged = True
            break
    estimate = with_gold(rows.task_sum(rows.value - bias[rows.worker]) / np.maximum(n, 1e-300), gold)
    spent = float((n > 0).sum() + (m > 0).sum() - 1)
    noise = pooled_variance(rows.with_value(rows.value - bias[rows.worker]), estimate, spent)
    ones = np.full(rows.n_workers, 1 / noise)
    doubt = noise / np.maximum(m, 1.0)
    linear = Linear(ones, ones, bias / noise, 0.0, 0.0, doubt, answered_prior(estimate, n > 0))
    mean, variance = linear.predict(rows)
    mean, variance = with_gold(mean, gold), np.where(fixed, 0.0, variance)
    square = rows.worker_sum((rows.value - mean[rows.task] - bias[rows.worker]) ** 2)
    spread = np.sqrt(np.where(m > 0, square / np.maximum(m, 1e-300), noise))
    ones_ = np.ones(rows.n_workers)
    fit = NumberFit("biased_mean", mean, variance, bias, spread, ones_, relative_weight(ones_, rows), np.array(trace),
                    len(trace), converged, {"linear": linear})  # fmt: skip
    return unstandardise(fit, scale)


# ----------------------------------------------------------------
# Clamping outliers: a single one would shift every estimate through the overall mean and variances.

REACH = 8.0


def clamped(rows: NumberRows, reach: float = REACH) -> tuple[NumberRows, float]:
    """Clamp the answers to at most `limit` from the median of their task; return the rows and the limit.

    The limit is `reach` times the median of the positive distances between answers and the median of their task.
    """
    middle = trimmed_means(rows, 0.5)
    limit = clamp_limit(rows, middle, reach)
    return clamp_answers(rows, middle, limit), limit


def clamp_limit(rows: NumberRows, middle: F8, reach: float = REACH) -> float:
    """Largest allowed distance of an answer from its task's median; infinite where all answers equal the median."""
    distance = np.abs(rows.value - middle[rows.task])
    nonzero = distance > 0
    if not nonzero.any():
        return np.inf
    weight = None if rows.weight is None else rows.weight[nonzero]
    zeros = np.zeros(int(nonzero.sum()), dtype=np.int32)
    return reach * float(trimmed_means(NumberRows(zeros, zeros, distance[nonzero], weight, 1, 1), 0.5)[0])


def clamp_answers(rows: NumberRows, middle: F8, limit: float) -> NumberRows:
    """Clamp answers to at most `limit` from the middle of their task."""
    centre = middle[rows.task]
    return rows.with_value(np.clip(rows.value, centre - limit, centre + limit))


# ----------------------------------------------------------------
# Rank-one spectral regression: the covariance between workers' answers determines their slopes.
#     answer = m_i + a_i z + noise,   so Cov(answer_i, answer_j) = a_i a_j for different workers
#
# The covariances of pairs with common tasks are fitted by one vector a (weighted by the number of common tasks),
# ignoring the diagonal; the noise variances are what remains of the diagonal. A task's z is then the best linear
# predictor from its answers. Slopes of workers with few answers are shrunk towards the crowd's.

SHRINK = 5.0  # weight of the crowd's mean, in answers
MOST_PAIRS = 2e8


def spectral_regression(
    rows: NumberRows, gold: F8 | None = None, *, max_iter: int = 200, tol: float = 1e-9
) -> NumberFit:
    """Fit the regression; raise ValueError where there are too many pairs of workers with common tasks."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, active = rows.per_worker, rows.per_worker > 0
    if float((np.diff(rows.offsets).astype(float) ** 2).sum()) > MOST_PAIRS:
        raise ValueError("spectral_regression compares all pairs of answers to a task; too many here, use gaussian")
    fixed = gold_mask(gold, rows.n_tasks)
    raw = rows.worker_sum(rows.value)
    middle = float(raw.sum() / max(n.sum(), 1e-300))
    offset = (raw + SHRINK * middle) / (n + SHRINK)
    gap = rows.value - offset[rows.worker]
    total = rows.worker_sum(gap**2)
    worker_variance = (total + SHRINK * float(total.sum() / max(n.sum(), 1e-300))) / (n + SHRINK)
    loading, n_iter, converged = _loadings(rows, gap, active, max_iter, tol)
    pull = float(n @ loading)
    unit = float(n @ loading**2) / pull if pull > 0 else 1.0
    # At least a fifth of a worker's variance is taken as noise, because the loadings are only estimates.
    noise = np.maximum(worker_variance - loading**2, 0.2 * worker_variance + 1e-9)
    if fixed.any() and gold is not None:
        unit, middle = _from_gold(rows, gold, fixed, gap, loading, noise, unit, middle)
    slope = np.where(active, loading / unit, 1.0) if unit > 0 else np.ones(rows.n_workers)
    q = np.where(active, 1 / noise, float((1 / noise[active]).mean()) if active.any() else 1.0)
    # r = offset + slope (y - middle): bias at y = 0 of the standardised scale.
    bias = np.where(active, offset - slope * middle, 0.0)
    tau = max(unit**2, 1e-9)
    zero = np.zeros(rows.n_workers)
    linear = Linear(q * slope**2, q * slope, q * slope * bias, middle, 1 / tau, zero, (middle, tau))
    mean, variance = linear.predict(rows)
    mean, variance = with_gold(mean, gold), np.where(fixed, 0.0, variance)
    extra = {"linear": linear, "prior_mean": middle, "prior_variance": tau}
    fit = NumberFit("spectral_regression", mean, variance, bias, 1 / np.sqrt(q), slope,
              relative_weight(np.abs(q * slope), rows), np.empty(0), n_iter, converged, extra)  # fmt: skip
    return unstandardise(fit, scale)


def _loadings(rows: NumberRows, gap: F8, active: np.ndarray, max_iter: int, tol: float) -> tuple[F8, int, bool]:
    """Vector a with a_i a_j closest to the covariances of different workers, by alternating least squares."""
    from scipy.sparse import csr_array

    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    shape = (rows.n_tasks, rows.n_workers)
    value = csr_array((weight * gap, (rows.task, rows.worker)), shape=shape)
    count = csr_array((weight, (rows.task, rows.worker)), shape=shape)
    sums, common = (value.T @ value).tocsr(), (count.T @ count).tocsr()
    sums.setdiag(0)
    common.setdiag(0)
    pooled = float(sums.sum()) / max(float(common.sum()), 1e-300)
    base = np.sqrt(max(pooled, 1e-6))
    a = np.where(active, base, 0.0)
    n_iter, converged = 0, False
    while n_iter < max_iter:
        n_iter += 1
        # Least squares for each worker, with the crowd's loading weighted as SHRINK common tasks.
        new = (sums @ a + SHRINK * base**3) / (common @ a**2 + SHRINK * base**2)
        new = np.where(active, (a + new) / 2, 0.0)
        moved = float(np.abs(new - a).max(initial=0.0))
        a = new
        if moved < tol:
            converged = True
            break
    if float(rows.per_worker @ a) < 0:
        a = -a
    return a, n_iter, converged


def _from_gold(
    rows: NumberRows, gold: F8, fixed: np.ndarray, gap: F8, loading: F8, noise: F8, unit: float, middle: float
) -> tuple[float, float]:
    """Scale and level of y from gold: least squares of gold on z, shrunk to the values without gold by ten tasks."""
    q = 1 / noise[rows.worker]
    a = loading[rows.worker]
    z = rows.task_sum(q * a * gap) / (1 + rows.task_sum(q * a**2))
    use = fixed & (rows.per_task > 0)
    x, y = z[use], gold[use]
    weight = len(x) / (len(x) + 10)
    level = middle + weight * float((y - unit * x).mean() - middle) if len(x) else middle
    spread = float(((x - x.mean()) ** 2).sum()) if len(x) else 0.0
    rise = float(((x - x.mean()) * (y - y.mean())).sum())
    tilt = (rise + 10 * unit) / (spread + 10) if len(x) else unit
    return (tilt if tilt > 0 else unit), level


# ----------------------------------------------------------------
# Truth discovery by iterative weighting: CRH and CATD, with weights from the size of the workers' errors.


def crh(rows: NumberRows, gold: F8 | None = None, *, max_iter: int = 100, tol: float = 1e-8) -> NumberFit:
    """Weight = -log of a worker's share of all errors, with errors divided by the number of answers.

    Li et al. (2014), doi:10.1145/2588555.2610509. Unlike there, errors are per answer, so that busy workers are not
    penalised.
    """

    def weigh(square: F8, n: F8) -> F8:
        error = np.where(n > 0, square / np.maximum(n, 1e-300), 0.0)
        total = float(error.sum())
        if total <= 0:
            return np.ones(len(n))
        weight = -np.log(np.clip(error / total, 1e-12, 1.0))
        return weight if (weight > 0).any() else np.ones(len(n))  # a single worker has all the errors

    return _alternate("crh", rows, gold, weigh, max_iter, tol)


def catd(
    rows: NumberRows, gold: F8 | None = None, *, level: float = 0.05, max_iter: int = 100, tol: float = 1e-8
) -> NumberFit:
    """Weight = lower chi-square quantile of a worker's number of answers, over the sum of their squared errors.

    Li et al. (2014), doi:10.14778/2735496.2735505.
    """
    from scipy.stats import chi2

    def weigh(square: F8, n: F8) -> F8:
        quantile = np.where(n > 0, chi2.ppf(level / 2, np.maximum(n, 1e-9)), 0.0)
        # A worker without errors is treated as having a millionth of the answers' variance.
        return np.asarray(quantile / np.maximum(square, 1e-6 * np.maximum(n, 1e-300)))

    return _alternate("catd", rows, gold, weigh, max_iter, tol)


def _alternate(
    method: str, rows: NumberRows, gold: F8 | None, weigh: Callable[[F8, F8], F8], max_iter: int, tol: float
) -> NumberFit:
    rows, gold, scale = standardise(rows.present(), gold)
    n = rows.per_worker
    weight = np.ones(rows.n_workers)
    mean = np.zeros(rows.n_tasks)
    n_iter, converged = 0, False
    while n_iter < max_iter:
        n_iter += 1
        new = with_gold(_weighted(rows, weight), gold)
        moved = float(np.abs(new - mean).max(initial=0.0))
        mean = new
        weight = weigh(rows.worker_sum((rows.value - mean[rows.task]) ** 2), n)
        weight = relative_weight(weight, rows)
        if moved < tol:
            converged = True
            break
    zero = np.zeros(rows.n_workers)
    answered = rows.per_task > 0
    empty = answered_prior(_weighted(rows, weight), answered)
    linear = Linear(weight, weight, zero, 0.0, 0.0, zero, empty, has_variance=False)
    mean, variance = linear.predict(rows)
    mean, variance = with_gold(mean, gold), np.where(gold_mask(gold, rows.n_tasks), 0.0, variance)
    bias, spread = residual_stats(rows, mean)
    slope = np.ones(rows.n_workers)
    fit = NumberFit(method, mean, variance, bias, spread, slope, weight, np.empty(0), n_iter, converged,
                    {"linear": linear})  # fmt: skip
    return unstandardise(fit, scale)


def _weighted(rows: NumberRows, weight: F8) -> F8:
    w = weight[rows.worker]
    return np.asarray(rows.task_sum(w * rows.value) / np.maximum(rows.task_sum(w), 1e-300))
