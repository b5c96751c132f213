"""Double sampling: a cheap verdict on every task, and the truth of a few tasks within each verdict.

    theta_k = sum_l W_l/N · C[l, k]/C[l, .]          tasks W[l] with verdict l, gold counts C[l, k]

Tenenbein (1970), JASA 65(331), doi:10.1080/01621459.1970.10481170. The interval comes from a Bayesian draw of every
verdict's row, which remains valid if few or no gold labels disagree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import F8

DRAWS = 4000


def point(tasks: F8, counts: F8, score: F8) -> float:
    """Mean score over all tasks: tasks[verdict], gold counts[verdict, true], score[true].

    A verdict without gold has the score of all gold pooled.

    >>> point(np.array([300.0, 700.0]), np.array([[36.0, 4.0], [3.0, 17.0]]), np.array([1.0, 0.0]))
    0.375
    """
    n = counts.sum(axis=1)
    pooled = counts.sum(axis=0) @ score / counts.sum()
    rate = np.where(n > 0, counts @ score / np.maximum(n, 1), pooled)
    return float(tasks @ rate / tasks.sum())


def draws(tasks: F8, counts: F8, score: F8, rng: np.random.Generator, *, new: bool = False, size: int = DRAWS) -> F8:
    """Posterior draws of the mean score of these tasks (unchecked tasks are drawn), or of `new` tasks of the same kind.

    A score with two values needs only how often each occurs; that is a Beta, the margin of the Dirichlet.
    """
    levels, place = np.unique(score, return_inverse=True)
    prior = np.bincount(place, minlength=len(levels)) / len(score)
    cells = np.stack([counts[:, place == j].sum(axis=1) for j in range(len(levels))], axis=1)
    rates = _rows(cells + prior, rng, size)  # draw, verdict, level
    if new:
        shares = _rows((tasks + 0.5)[None], rng, size)[:, 0]
        return np.asarray(np.einsum("bl,bls,s->b", shares, rates, levels))
    unchecked = np.maximum(np.rint(tasks - counts.sum(axis=1)), 0).astype(np.int64)
    total = np.full(size, float((cells @ levels).sum()))
    for verdict in range(len(tasks)):
        if len(levels) == 2:
            hits = rng.binomial(unchecked[verdict], rates[:, verdict, 1])
            total += levels[0] * (unchecked[verdict] - hits) + levels[1] * hits
        elif len(levels) > 2:
            total += rng.multinomial(unchecked[verdict], rates[:, verdict]) @ levels
        else:
            total += levels[0] * unchecked[verdict]
    return np.asarray(total / tasks.sum())


def _rows(shape: F8, rng: np.random.Generator, size: int) -> F8:
    """Dirichlet draws[draw, row, cell] of each row of pseudo-counts."""
    gamma = rng.standard_gamma(np.maximum(shape, 1e-9), size=(size, *shape.shape))
    total = gamma.sum(axis=-1, keepdims=True)
    flat = np.broadcast_to(1.0 / shape.shape[-1], gamma.shape)
    return np.asarray(np.divide(gamma, total, out=flat.copy(), where=total > 0))


def explained(tasks: F8, counts: F8, score: F8) -> float:
    """R squared: the share of the score's variance that the verdict explains, according to the gold."""
    n = counts.sum(axis=1)
    pooled = counts.sum(axis=0) @ score / counts.sum()
    mean = np.where(n > 0, counts @ score / np.maximum(n, 1), pooled)
    square = counts.sum(axis=0) @ score**2 / counts.sum()
    within = np.where(n > 0, counts @ score**2 / np.maximum(n, 1), square) - mean**2
    share = tasks / tasks.sum()
    between = share @ (mean - share @ mean) ** 2
    total = between + share @ within
    return float(between / total) if total > 1e-300 else 0.0


def central(values: F8, level: float) -> tuple[float, float]:
    """The central share `level` of the draws."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def labels_saved(gold_ends: tuple[float, float], low: float, high: float) -> float | None:
    """Return how many times as many gold labels would be needed alone for an interval as narrow as (low, high)."""
    return ((gold_ends[1] - gold_ends[0]) / (high - low)) ** 2 if high > low else None


# ----------------------------------------------------------------
# Rogan-Gladen: shares of the true classes from shares of verdicts, where gold was drawn within the true classes.
#     q = Aᵀ theta,  A[k, l] = P(verdict l | true k)
#
# Rogan & Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510. Both A and q are drawn: no observed errors do not
# mean an error rate of zero.

# Informedness (K = 2) or smallest singular value below which verdicts cannot be corrected.
EDGE, SINGULAR = 0.02, 0.05


def solve(rows: F8, shares: F8) -> F8:
    """Solve rowsᵀ·theta = shares; the solution may lie outside the simplex.

    >>> solve(np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([0.8, 0.2])).round(5).tolist()
    [0.83333, 0.16667]
    """
    return np.asarray(np.linalg.solve(np.swapaxes(rows, -1, -2), shares[..., None])[..., 0])


def on_simplex(theta: F8) -> F8:
    """Clip shares at zero and normalize them to sum to one."""
    cut = np.clip(theta, 0, None)
    return np.asarray(cut / cut.sum(axis=-1, keepdims=True))


def informedness(rows: F8) -> F8:
    """How much better than chance: sensitivity + specificity - 1; with several classes the smallest singular value."""
    if rows.shape[-1] == 2:
        return np.asarray(rows[..., 0, 0] + rows[..., 1, 1] - 1)
    return np.asarray(np.linalg.svd(rows, compute_uv=False)[..., -1])


def balanced_draws(counts: F8, tasks: F8, rng: np.random.Generator, size: int) -> tuple[F8, F8]:
    """Return theta[draw, class] on the simplex and informedness[draw] from gold counts[true, verdict] and
    tasks[verdict].
    """
    rows = _rows(counts + 0.5, rng, size)
    shares = _rows((tasks + 0.5)[None], rng, size)[:, 0]
    informedness_ = informedness(rows)
    usable = np.abs(informedness_) > 1e-6
    theta = np.full((size, len(tasks)), 1.0 / len(tasks))
    theta[usable] = on_simplex(solve(rows[usable], shares[usable]))
    return theta, informedness_


# ----------------------------------------------------------------
# The regression estimator: a mean from few known values and a prediction of every value.
#     theta = lam·mean_all(f) + mean_gold(y - lam·f),   lam = S_yf(gold) / S²_f(all)
#
# Cochran (1977), Sampling Techniques, ch. 7; as prediction-powered inference with a tuned lambda: Angelopoulos, Duchi
# & Zrnic (2023), arXiv:2311.01453.


class FittedMean(NamedTuple):
    """A value with its standard error and the degrees of freedom of its t interval; `alone` is from the gold only."""

    value: float
    error: float
    freedom: float
    lam: float
    r2: float
    alone: tuple[float, float, float]  # value, standard error, degrees of freedom


def half_width(error: float, freedom: float, level: float) -> float:
    """Return half the width of a t interval."""
    from scipy.special import ndtri, stdtrit

    tail = (1 + level) / 2
    return float(error * (stdtrit(freedom, tail) if np.isfinite(freedom) else ndtri(tail)))


def regression(y: F8, f: F8, all_predictions: F8, *, new: bool = False) -> FittedMean:
    """Regression estimate from y and f of the gold tasks and the predictions of all N tasks (gold included)."""
    n, total = len(y), len(all_predictions)
    lam = _slope(y, f, float(all_predictions.var(ddof=1)))
    residual = y - lam * f
    value = lam * float(all_predictions.mean()) + float(residual.mean())
    s_y, s_r = float(y.var(ddof=1)), float(((residual - residual.mean()) ** 2).sum() / (n - 2))
    unsampled_share = 1 - n / total
    new_variance = s_y / total if new else 0.0
    gold_only = (float(y.mean()), float(np.sqrt(unsampled_share * s_y / n + new_variance)), float(n - 1))
    return FittedMean(
        value, float(np.sqrt(unsampled_share * s_r / n + new_variance)), float(n - 2), lam, _r2(y, f), gold_only
    )


def weighted(y: F8, f: F8, chance: F8, all_predictions: F8, *, new: bool = False) -> FittedMean:
    """Regression estimate if gold task i was drawn independently with known probability chance[i] (Hájek)."""
    n, total = len(y), len(all_predictions)
    w = 1 / chance
    mean_y, mean_f = np.average(y, weights=w), np.average(f, weights=w)
    square = float((w**2 * (f - mean_f) ** 2).sum())
    lam = float((w**2 * (y - mean_y) * (f - mean_f)).sum() / square) if square > 1e-300 else 0.0
    residual = y - lam * f
    value = lam * float(all_predictions.mean()) + float(np.average(residual, weights=w))
    new_variance = float(np.average((y - mean_y) ** 2, weights=w)) / total if new else 0.0

    def error(r: F8, spent: int) -> float:
        spread = ((1 - chance) * w**2 * (r - np.average(r, weights=w)) ** 2).sum() / w.sum() ** 2
        return float(np.sqrt(spread * n / (n - spent) + new_variance))

    effective = float(w.sum() ** 2 / (w**2).sum())
    gold_only = (float(mean_y), error(y, 1), max(effective - 1, 1.0))
    return FittedMean(value, error(residual, 2), max(effective - 2, 1.0), lam, _r2(y, f, w), gold_only)


def ppi_plus_plus(y: F8, f: F8, unlabelled: F8, *, lam: float | None = None) -> tuple[float, float, float]:
    """Return (value, standard error, lambda) as ppi-python 0.2.3; its interval is value ± z·error."""
    n, n_unlabelled = len(y), len(unlabelled)
    if lam is None:
        pooled = np.concatenate([f, unlabelled])
        spread = float(pooled.var(ddof=1))
        covariance = float(((y - y.mean()) * (f - f.mean())).mean())
        lam = float(np.clip(covariance / ((1 + n / n_unlabelled) * spread), 0, 1)) if spread > 0 else 0.0
    residual = y - lam * f
    value = lam * float(unlabelled.mean()) + float(residual.mean())
    return value, float(np.sqrt(lam**2 * unlabelled.var() / n_unlabelled + residual.var() / n)), lam


def _slope(y: F8, f: F8, spread: float) -> float:
    if spread <= 1e-300:
        return 0.0
    return float(((y - y.mean()) * (f - f.mean())).sum() / (len(y) - 1) / spread)


def _r2(y: F8, f: F8, w: F8 | None = None) -> float:
    a, b = y - np.average(y, weights=w), f - np.average(f, weights=w)
    w = np.ones(len(y)) if w is None else w
    size = float((w * a * a).sum() * (w * b * b).sum())
    return float((w * a * b).sum() ** 2 / size) if size > 1e-300 else 0.0
