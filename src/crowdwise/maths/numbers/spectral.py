"""Rank-one spectral regression: how workers' answers vary together tells how each varies with the truth.

    answer = m_i + a_i z + noise,   so Cov(answer_i, answer_j) = a_i a_j for different workers

The covariances of pairs with common tasks are fitted by one vector a (weights: the number of common tasks), the
diagonal is left out; noise variances are what remains of it. A task's z is then the best linear predictor from the
answers it has. Slopes of workers with few answers are drawn towards the crowd's.
"""

from __future__ import annotations

import numpy as np

from .fit import Fit, held, known, outward, relative
from .linear import Linear
from .rows import F8, Rows
from .scaling import standardise

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
