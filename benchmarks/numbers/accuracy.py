"""All methods on the open sets: error and correlation, and how sure their difference from the mean is."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from crowdwise.kinds.numbers import maths as numbers
from crowdwise.kinds.numbers.maths.rows import NumberFit
from tests.open_sets.numbers import CONSTANT, SETS, load, score

METHODS = {
    "mean": numbers.mean,
    "median": numbers.median,
    "trimmed_mean": numbers.trimmed_mean,
    "biased_mean": numbers.biased_mean,
    "crh": numbers.crh,
    "catd": numbers.catd,
    "student": numbers.student,
    "spectral_regression": numbers.spectral_regression,
    "gaussian_plain": numbers.gaussian_plain,
    "gaussian": numbers.gaussian,
    "gaussian, slopes": partial(numbers.gaussian, slope=True),
    "bayesian_iterative": numbers.bayesian_iterative,
    "combined (default)": numbers.combined,
}
DRAWS = 1000


@cache
def fit(method: str, name: str) -> NumberFit:
    """Each fit once."""
    return METHODS[method](load(name)[0])


def score_rows() -> list[list[str]]:
    """RMSE in sd of the truth / Pearson's r by set, the mean of the eight sets last but one, constant workers last."""
    out = []
    for method in METHODS:
        found = [score(fit(method, name).mean, load(name)[1]) for name in (*SETS, CONSTANT)]
        mean = np.mean(found[:-1], axis=0)
        cells = [f"{error:.3f} / {r:.3f}" for error, r in (*found[:-1], tuple(mean), found[-1])]
        out.append([method, *cells])
        print(*out[-1], flush=True)
    return out


def difference_rows() -> list[list[str]]:
    """Pearson's r minus the mean's, with its standard error by resampling tasks."""
    out = []
    for method in list(METHODS)[1:]:
        cells = []
        for name in (*SETS, CONSTANT):
            gap, error = _difference(fit(method, name).mean, fit("mean", name).mean, load(name)[1])
            cells.append(f"{gap:+.3f} ± {error:.3f}")
        out.append([method, *cells])
        print(*out[-1], flush=True)
    return out


def _difference(ours: np.ndarray, base: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    known = np.flatnonzero(~np.isnan(truth))
    columns = np.stack([ours[known], base[known], truth[known]], axis=1)
    columns = columns - columns.mean(axis=0)
    a, b, y = columns.T
    terms = np.stack([np.ones(len(y)), a, b, y, a * a, b * b, y * y, a * y, b * y], axis=1)
    rng = np.random.default_rng(0)
    times = rng.multinomial(len(y), np.full(len(y), 1 / len(y)), size=DRAWS)
    drawn = _gap(times @ terms)
    return float(_gap(terms.sum(axis=0)[None])[0]), float(drawn.std())


def _gap(sums: np.ndarray) -> np.ndarray:
    n, a, b, y, aa, bb, yy, ay, by = sums.T
    spread = yy / n - (y / n) ** 2
    one = (ay / n - a * y / n**2) / np.sqrt((aa / n - (a / n) ** 2) * spread)
    return one - (by / n - b * y / n**2) / np.sqrt((bb / n - (b / n) ** 2) * spread)
