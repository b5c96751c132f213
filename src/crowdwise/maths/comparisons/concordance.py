"""How far two orders go together: Kendall's tau-b, Spearman's rho, pairs in the right order, with intervals.

Only items of one group are compared. Kendall (1945), doi:10.1093/biomet/33.3.239.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..bootstrap import central

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# Items of a group that are resampled at most.
LARGEST = 1500
NOTHING = float("nan")


@dataclass(frozen=True)
class Concordance:
    """Each as (value, low, high): tau-b, rho, and the share of pairs with different truths in the right order (a pair
    with equal scores counts half). NaN: not known."""

    kendall: tuple[float, float, float]
    spearman: tuple[float, float, float]
    pairs_right: tuple[float, float, float]
    n_pairs: int


def concordance(score: F8, truth: F8, group: I8, resamples: int = 0, seed: int = 0) -> Concordance:
    """Groups count by their pairs of items; intervals (95 %) by resampling items within groups."""
    rng = np.random.default_rng(seed)
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else []
    sums, draws, rhos = np.zeros(4), np.zeros((resamples, 4)), []
    for part in parts:
        n = len(part)
        if n < 2:
            continue
        some = part if n <= LARGEST else rng.choice(part, LARGEST, replace=False)
        grow = (n * (n - 1)) / (len(some) * (len(some) - 1))
        tables = _tables(score[some], truth[some])
        sums += grow * np.array([table.sum() for table in tables])
        if resamples:
            # Shrunk for groups that were cut: what varies there is the whole group's mean.
            m = rng.multinomial(len(some), np.full(len(some), 1 / len(some)), size=resamples).astype(np.float64)
            draws += grow * np.stack([np.einsum("ri,ij,rj->r", m, t, m, optimize=True) for t in tables], axis=1)
        rho = _spearman(score[part], truth[part])
        if np.isfinite(rho):
            rhos.append((rho, n))
    tau, right = _read(sums[None])
    ends = [(NOTHING, NOTHING)] * 2
    if resamples:
        ends = [_ends(each, len(order)) for each in _read(draws)]
    return Concordance((float(tau[0]), *ends[0]), _mean_rho(rhos), (float(right[0]), *ends[1]), int(sums[1] / 2))


def _tables(score: F8, truth: F8) -> tuple[F8, F8, F8, F8]:
    """Of all pairs: product of the signs, whether truths differ, whether scores differ, right (half where equal)."""
    s = np.sign(score[:, None] - score[None, :])
    t = np.sign(truth[:, None] - truth[None, :])
    both = s * t
    return both, np.abs(t), np.abs(s), np.abs(t) * (1 + both) / 2


def _read(sums: F8) -> tuple[F8, F8]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums[:, 0] / np.sqrt(sums[:, 1] * sums[:, 2]), sums[:, 3] / sums[:, 1]


def _ends(draws: F8, n: int) -> tuple[float, float]:
    known = draws[np.isfinite(draws)]
    return (NOTHING, NOTHING) if len(known) < 20 else central(known, n, 0.95)


def _spearman(score: F8, truth: F8) -> float:
    from scipy.stats import rankdata

    a, b = rankdata(score), rankdata(truth)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return NOTHING
    return float(np.corrcoef(a, b)[0, 1])


def _mean_rho(rhos: list[tuple[float, int]]) -> tuple[float, float, float]:
    """Weighted by items; the interval is Fisher's, of as many items as there are beyond three a group."""
    if not rhos:
        return NOTHING, NOTHING, NOTHING
    value = float(np.average([r for r, _ in rhos], weights=[n for _, n in rhos]))
    free = sum(n - 3 for _, n in rhos if n > 3)
    if free < 1 or abs(value) >= 1:
        return value, NOTHING, NOTHING
    z, half = np.arctanh(value), 1.96 * 1.03 / np.sqrt(free)
    return value, float(np.tanh(z - half)), float(np.tanh(z + half))
