"""Methods without a model of the workers: mean, median, trimmed mean."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .rows import F8, Fit, Linear, Rows, answered_prior, held, known, outward, relative, residual_picture, standardise


def mean(rows: Rows, gold: F8 | None = None) -> Fit:
    """The mean of each task's answers; its variance is the pooled variance within tasks over their number."""
    rows, gold, scale = standardise(rows.present(), gold)
    n = rows.per_task
    estimate = rows.task_sum(rows.value) / np.maximum(n, 1e-300)
    noise = pooled_variance(rows, estimate)
    prior = answered_prior(estimate, n > 0)
    ones = np.full(rows.n_workers, 1 / noise)
    judge = Linear(ones, ones, np.zeros(rows.n_workers), 0.0, 0.0, np.zeros(rows.n_workers), prior)
    estimate, variance = judge.judge(rows)
    return outward(finish("mean", rows, gold, estimate, variance, {"linear": judge}), scale)


def median(rows: Rows, gold: F8 | None = None) -> Fit:
    """The (weighted) median of each task's answers."""
    rows, gold, scale = standardise(rows.present(), gold)
    return outward(_trimmed("median", rows, gold, 0.5), scale)


def trimmed_mean(rows: Rows, gold: F8 | None = None, *, share: float = 0.2) -> Fit:
    """The mean of each task's answers without the lowest and the highest `share` of them (0 mean, 0.5 median)."""
    rows, gold, scale = standardise(rows.present(), gold)
    return outward(_trimmed("trimmed_mean", rows, gold, share), scale)


def _trimmed(method: str, rows: Rows, gold: F8 | None, share: float) -> Fit:
    estimate = trimmed_of(rows, share)
    empty, _ = answered_prior(estimate, rows.per_task > 0)
    return finish(method, rows, gold, estimate, np.full(rows.n_tasks, np.nan), {"share": share, "empty": empty})


def finish(method: str, rows: Rows, gold: F8 | None, mean: F8, variance: F8, extra: dict[str, object]) -> Fit:
    """A fit whose workers are described by what is left of their answers."""
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    bias, spread = residual_picture(rows, mean)
    ones = np.ones(rows.n_workers)
    return Fit(method, mean, variance, bias, spread, ones, relative(ones, rows), extra=dict(extra))


def pooled_variance(rows: Rows, mean: F8, spent: float | None = None) -> float:
    """Variance of the answers around the estimates, freed of the degrees of freedom spent (one a task)."""
    square = float(rows.task_sum((rows.value - mean[rows.task]) ** 2).sum())
    total = float(rows.per_task.sum())
    spent = float((rows.per_task > 0).sum()) if spent is None else spent
    if total - spent <= 0:
        return 1.0  # standardised: one answer a task says nothing of the noise
    return max(square / (total - spent), 1e-12)


def trimmed_of(rows: Rows, share: float) -> F8:
    """Trimmed means by task: answers as a step function of weight, its ends cut; silent tasks get the mean of all."""
    order = np.lexsort((rows.value, rows.task))
    value, task = rows.value[order], rows.task[order]
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight[order]
    top = np.cumsum(weight)
    total = rows.per_task
    start = np.concatenate([[0.0], top])[rows.offsets[:-1]]
    high = top - start[task]
    low = high - weight
    if share >= 0.5:
        # The middle of the weight: the mean of the answers that touch it.
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


def biased_mean(rows: Rows, gold: F8 | None = None, *, max_iter: int = 500, tol: float = 1e-10) -> Fit:
    """Mean of the answers freed of each worker's offset; offsets sum to 0 over answers, unless gold fixes them."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, m = rows.per_task, rows.per_worker
    fixed = known(gold, rows.n_tasks)
    bias = np.zeros(rows.n_workers)
    estimate = np.zeros(rows.n_tasks)
    trace: list[float] = []
    converged = False
    for _ in range(max_iter):
        estimate = held(rows.task_sum(rows.value - bias[rows.worker]) / np.maximum(n, 1e-300), gold)
        left = rows.value - estimate[rows.task]
        new = rows.worker_sum(left) / np.maximum(m, 1e-300)
        if not fixed.any():
            new = np.where(m > 0, new - (m @ new) / max(m.sum(), 1e-300), 0.0)
        trace.append(-float(rows.task_sum((left - new[rows.worker]) ** 2).sum()))
        moved = float(np.abs(new - bias).max(initial=0.0))
        bias = new
        if moved < tol:
            converged = True
            break
    estimate = held(rows.task_sum(rows.value - bias[rows.worker]) / np.maximum(n, 1e-300), gold)
    spent = float((n > 0).sum() + (m > 0).sum() - 1)
    noise = pooled_variance(rows.with_value(rows.value - bias[rows.worker]), estimate, spent)
    ones = np.full(rows.n_workers, 1 / noise)
    doubt = noise / np.maximum(m, 1.0)
    judge = Linear(ones, ones, bias / noise, 0.0, 0.0, doubt, answered_prior(estimate, n > 0))
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(fixed, 0.0, variance)
    square = rows.worker_sum((rows.value - mean[rows.task] - bias[rows.worker]) ** 2)
    spread = np.sqrt(np.where(m > 0, square / np.maximum(m, 1e-300), noise))
    one = np.ones(rows.n_workers)
    fit = Fit("biased_mean", mean, variance, bias, spread, one, relative(one, rows), np.array(trace), len(trace),
              converged, {"linear": judge})  # fmt: skip
    return outward(fit, scale)


# ----------------------------------------------------------------
# Pulling in wild answers: one of them would move every estimate through the crowd's mean and variances.

REACH = 8.0


def clamped(rows: Rows, reach: float = REACH) -> tuple[Rows, float]:
    """Rows whose answers lie at most `limit` from their task's median, and the limit.

    The limit is `reach` times the median distance of an answer from its task's median, among distances above zero.
    """
    middle = trimmed_of(rows, 0.5)
    limit = limit_of(rows, middle, reach)
    return pulled(rows, middle, limit), limit


def limit_of(rows: Rows, middle: F8, reach: float = REACH) -> float:
    """How far from its task's median an answer may lie; infinite where no answer differs from it."""
    distance = np.abs(rows.value - middle[rows.task])
    some = distance > 0
    if not some.any():
        return np.inf
    weight = None if rows.weight is None else rows.weight[some]
    one = np.zeros(int(some.sum()), dtype=np.int32)
    return reach * float(trimmed_of(Rows(one, one, distance[some], weight, 1, 1), 0.5)[0])


def pulled(rows: Rows, middle: F8, limit: float) -> Rows:
    """Answers further than the limit from the middle of their task are pulled to that distance."""
    centre = middle[rows.task]
    return rows.with_value(np.clip(rows.value, centre - limit, centre + limit))


# ----------------------------------------------------------------
# Rank-one spectral regression: how workers' answers vary together tells how each varies with the truth.
#     answer = m_i + a_i z + noise,   so Cov(answer_i, answer_j) = a_i a_j for different workers
#
# The covariances of pairs with common tasks are fitted by one vector a (weights: the number of common tasks), the
# diagonal is left out; noise variances are what remains of it. A task's z is then the best linear predictor from the
# answers it has. Slopes of workers with few answers are drawn towards the crowd's.

SHRINK = 5.0  # answers that the crowd's mean counts for
MOST_PAIRS = 2e8


def spectral_regression(rows: Rows, gold: F8 | None = None, *, max_iter: int = 200, tol: float = 1e-9) -> Fit:
    """Fit; raises ValueError where the pairs of workers with common tasks are too many to hold."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, heard = rows.per_worker, rows.per_worker > 0
    if float((np.diff(rows.offsets).astype(float) ** 2).sum()) > MOST_PAIRS:
        raise ValueError("spectral_regression compares all pairs of answers of a task: too many here, use gaussian")
    fixed = known(gold, rows.n_tasks)
    raw = rows.worker_sum(rows.value)
    middle = float(raw.sum() / max(n.sum(), 1e-300))
    offset = (raw + SHRINK * middle) / (n + SHRINK)
    gap = rows.value - offset[rows.worker]
    total = rows.worker_sum(gap**2)
    own = (total + SHRINK * float(total.sum() / max(n.sum(), 1e-300))) / (n + SHRINK)
    loading, n_iter, converged = _loadings(rows, gap, heard, max_iter, tol)
    pull = float(n @ loading)
    unit = float(n @ loading**2) / pull if pull > 0 else 1.0
    # A fifth of a worker's variance at least is noise: loadings are estimates too.
    noise = np.maximum(own - loading**2, 0.2 * own + 1e-9)
    if fixed.any() and gold is not None:
        unit, middle = _from_gold(rows, gold, fixed, gap, loading, noise, unit, middle)
    slope = np.where(heard, loading / unit, 1.0) if unit > 0 else np.ones(rows.n_workers)
    q = np.where(heard, 1 / noise, float((1 / noise[heard]).mean()) if heard.any() else 1.0)
    # r = offset + slope (y - middle): bias at y = 0 of the standardised scale.
    bias = np.where(heard, offset - slope * middle, 0.0)
    tau = max(unit**2, 1e-9)
    zero = np.zeros(rows.n_workers)
    judge = Linear(q * slope**2, q * slope, q * slope * bias, middle, 1 / tau, zero, (middle, tau))
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(fixed, 0.0, variance)
    extra = {"linear": judge, "prior_mean": middle, "prior_variance": tau}
    fit = Fit("spectral_regression", mean, variance, bias, 1 / np.sqrt(q), slope,
              relative(np.abs(q * slope), rows), np.empty(0), n_iter, converged, extra)  # fmt: skip
    return outward(fit, scale)


def _loadings(rows: Rows, gap: F8, heard: np.ndarray, max_iter: int, tol: float) -> tuple[F8, int, bool]:
    """The vector a with a_i a_j nearest to the covariances of different workers, by alternating least squares."""
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
    a = np.where(heard, base, 0.0)
    n_iter, converged = 0, False
    while n_iter < max_iter:
        n_iter += 1
        # Each worker's own least squares, the crowd's loading counting for SHRINK common tasks.
        new = (sums @ a + SHRINK * base**3) / (common @ a**2 + SHRINK * base**2)
        new = np.where(heard, (a + new) / 2, 0.0)
        moved = float(np.abs(new - a).max(initial=0.0))
        a = new
        if moved < tol:
            converged = True
            break
    if float(rows.per_worker @ a) < 0:
        a = -a
    return a, n_iter, converged


def _from_gold(
    rows: Rows, gold: F8, fixed: np.ndarray, gap: F8, loading: F8, noise: F8, unit: float, middle: float
) -> tuple[float, float]:
    """Scale and level of y from its gold: least squares of gold on z, the free values counting for ten tasks."""
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
# Truth finding by weights: CRH and CATD, which know a worker by the size of their errors alone.


def crh(rows: Rows, gold: F8 | None = None, *, max_iter: int = 100, tol: float = 1e-8) -> Fit:
    """Weight = -log of a worker's share of all errors, each worker's error divided by their number of answers.

    Li et al. (2014), doi:10.1145/2588555.2610509; the error per answer is ours: it keeps busy workers in.
    """

    def say(square: F8, n: F8) -> F8:
        error = np.where(n > 0, square / np.maximum(n, 1e-300), 0.0)
        total = float(error.sum())
        if total <= 0:
            return np.ones(len(n))
        weight = -np.log(np.clip(error / total, 1e-12, 1.0))
        return weight if (weight > 0).any() else np.ones(len(n))  # one worker: all errors are theirs

    return _alternate("crh", rows, gold, say, max_iter, tol)


def catd(rows: Rows, gold: F8 | None = None, *, level: float = 0.05, max_iter: int = 100, tol: float = 1e-8) -> Fit:
    """Weight = lower chi-square quantile of a worker's number of answers, over the sum of their squared errors.

    Li et al. (2014), doi:10.14778/2735496.2735505.
    """
    from scipy.stats import chi2

    def say(square: F8, n: F8) -> F8:
        quantile = np.where(n > 0, chi2.ppf(level / 2, np.maximum(n, 1e-9)), 0.0)
        # No error at all: as if the errors were a millionth of the answers' variance.
        return np.asarray(quantile / np.maximum(square, 1e-6 * np.maximum(n, 1e-300)))

    return _alternate("catd", rows, gold, say, max_iter, tol)


def _alternate(method: str, rows: Rows, gold: F8 | None, say: Callable[[F8, F8], F8], max_iter: int, tol: float) -> Fit:
    rows, gold, scale = standardise(rows.present(), gold)
    n = rows.per_worker
    weight = np.ones(rows.n_workers)
    mean = np.zeros(rows.n_tasks)
    n_iter, converged = 0, False
    while n_iter < max_iter:
        n_iter += 1
        new = held(_weighted(rows, weight), gold)
        moved = float(np.abs(new - mean).max(initial=0.0))
        mean = new
        weight = say(rows.worker_sum((rows.value - mean[rows.task]) ** 2), n)
        weight = relative(weight, rows)
        if moved < tol:
            converged = True
            break
    zero = np.zeros(rows.n_workers)
    answered = rows.per_task > 0
    empty = answered_prior(_weighted(rows, weight), answered)
    judge = Linear(weight, weight, zero, 0.0, 0.0, zero, empty, has_variance=False)
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    bias, spread = residual_picture(rows, mean)
    fit = Fit(method, mean, variance, bias, spread, np.ones(rows.n_workers), weight, np.empty(0), n_iter, converged,
              {"linear": judge})  # fmt: skip
    return outward(fit, scale)


def _weighted(rows: Rows, weight: F8) -> F8:
    w = weight[rows.worker]
    return np.asarray(rows.task_sum(w * rows.value) / np.maximum(rows.task_sum(w), 1e-300))
