"""The regression estimator: a mean from few known values and a prediction of every value.

    theta = lam·mean_all(f) + mean_gold(y - lam·f),   lam = S_yf(gold) / S²_f(all)

Cochran (1977), Sampling Techniques, ch. 7; as prediction-powered inference with a tuned lambda: Angelopoulos, Duchi &
Zrnic (2023), arXiv:2311.01453.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]


class Estimated(NamedTuple):
    """A value with its standard error and the degrees of freedom of its t interval; `alone`: from the gold only."""

    value: float
    error: float
    freedom: float
    lam: float
    r2: float
    alone: tuple[float, float, float]  # value, standard error, degrees of freedom


def half_width(error: float, freedom: float, level: float) -> float:
    """Half of a t interval."""
    from scipy.special import ndtri, stdtrit

    tail = (1 + level) / 2
    return float(error * (stdtrit(freedom, tail) if np.isfinite(freedom) else ndtri(tail)))


def regression(y: F8, f: F8, everything: F8, *, new: bool = False) -> Estimated:
    """y and f of the gold tasks, the predictions of all N tasks (gold among them)."""
    n, total = len(y), len(everything)
    lam = _slope(y, f, float(everything.var(ddof=1)))
    rest = y - lam * f
    value = lam * float(everything.mean()) + float(rest.mean())
    s_y, s_r = float(y.var(ddof=1)), float(((rest - rest.mean()) ** 2).sum() / (n - 2))
    left = 1 - n / total
    more = s_y / total if new else 0.0
    alone = (float(y.mean()), float(np.sqrt(left * s_y / n + more)), float(n - 1))
    return Estimated(value, float(np.sqrt(left * s_r / n + more)), float(n - 2), lam, _r2(y, f), alone)


def weighted(y: F8, f: F8, chance: F8, everything: F8, *, new: bool = False) -> Estimated:
    """The same where gold task i was drawn with the known probability chance[i], each by itself (Hájek)."""
    n, total = len(y), len(everything)
    w = 1 / chance
    mean_y, mean_f = np.average(y, weights=w), np.average(f, weights=w)
    square = float((w**2 * (f - mean_f) ** 2).sum())
    lam = float((w**2 * (y - mean_y) * (f - mean_f)).sum() / square) if square > 1e-300 else 0.0
    rest = y - lam * f
    value = lam * float(everything.mean()) + float(np.average(rest, weights=w))
    more = float(np.average((y - mean_y) ** 2, weights=w)) / total if new else 0.0

    def error(r: F8, spent: int) -> float:
        spread = ((1 - chance) * w**2 * (r - np.average(r, weights=w)) ** 2).sum() / w.sum() ** 2
        return float(np.sqrt(spread * n / (n - spent) + more))

    effective = float(w.sum() ** 2 / (w**2).sum())
    alone = (float(mean_y), error(y, 1), max(effective - 1, 1.0))
    return Estimated(value, error(rest, 2), max(effective - 2, 1.0), lam, _r2(y, f, w), alone)


def ppi_plus_plus(y: F8, f: F8, unlabelled: F8, *, lam: float | None = None) -> tuple[float, float, float]:
    """(value, standard error, lambda) as ppi-python 0.2.3 has them; its interval is value ± z·error."""
    n, more = len(y), len(unlabelled)
    if lam is None:
        both = np.concatenate([f, unlabelled])
        spread = float(both.var(ddof=1))
        together = float(((y - y.mean()) * (f - f.mean())).mean())
        lam = float(np.clip(together / ((1 + n / more) * spread), 0, 1)) if spread > 0 else 0.0
    rest = y - lam * f
    value = lam * float(unlabelled.mean()) + float(rest.mean())
    return value, float(np.sqrt(lam**2 * unlabelled.var() / more + rest.var() / n)), lam


def _slope(y: F8, f: F8, spread: float) -> float:
    if spread <= 1e-300:
        return 0.0
    return float(((y - y.mean()) * (f - f.mean())).sum() / (len(y) - 1) / spread)


def _r2(y: F8, f: F8, w: F8 | None = None) -> float:
    a, b = y - np.average(y, weights=w), f - np.average(f, weights=w)
    w = np.ones(len(y)) if w is None else w
    size = float((w * a * a).sum() * (w * b * b).sum())
    return float((w * a * b).sum() ** 2 / size) if size > 1e-300 else 0.0
