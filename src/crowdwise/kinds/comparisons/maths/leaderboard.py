"""Simultaneous ranks of items, agreement of two orders, and the reliability of workers given scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.arrays import F8, I8
from ....stats.bootstrap import central
from .models import PairRows, ScoreBlock

# ----------------------------------------------------------------
# Agreement of two orders: Kendall's tau-b, Spearman's rho and pairs in the right order, with intervals.
# Only items of the same group are compared. Kendall (1945), doi:10.1093/biomet/33.3.239.

# Largest number of items of a group that are resampled.
LARGEST = 1500
NOTHING = float("nan")


@dataclass(frozen=True)
class Concordance:
    """Agreement of scores with the truth, as (value, low, high): tau-b, rho, and the share of pairs in the right order.

    A pair with equal scores counts half; pairs with equal truths do not count. NaN: not known.
    """

    kendall: tuple[float, float, float]
    spearman: tuple[float, float, float]
    pairs_right: tuple[float, float, float]
    n_pairs: int


def concordance(score: F8, truth: F8, group: I8, resamples: int = 0, seed: int = 0) -> Concordance:
    """Compare scores with the truth within groups, weighted by pairs; 95 % intervals by resampling items in groups."""
    rng = np.random.default_rng(seed)
    order = np.argsort(group, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else []
    sums, draws, rhos = np.zeros(4), np.zeros((resamples, 4)), []
    for members in groups:
        n = len(members)
        if n < 2:
            continue
        sample = members if n <= LARGEST else rng.choice(members, LARGEST, replace=False)
        weight = (n * (n - 1)) / (len(sample) * (len(sample) - 1))
        tables = _tables(score[sample], truth[sample])
        sums += weight * np.array([table.sum() for table in tables])
        if resamples:
            # Scaled up for groups of which only a sample is resampled.
            m = rng.multinomial(len(sample), np.full(len(sample), 1 / len(sample)), size=resamples).astype(np.float64)
            draws += weight * np.stack([np.einsum("ri,ij,rj->r", m, t, m, optimize=True) for t in tables], axis=1)
        rho = _spearman(score[members], truth[members])
        if np.isfinite(rho):
            rhos.append((rho, n))
    tau, right = _read(sums[None])
    ends = [(NOTHING, NOTHING)] * 2
    if resamples:
        ends = [_ends(draw, len(order)) for draw in _read(draws)]
    return Concordance((float(tau[0]), *ends[0]), _mean_rho(rhos), (float(right[0]), *ends[1]), int(sums[1] / 2))


def _tables(score: F8, truth: F8) -> tuple[F8, F8, F8, F8]:
    """For all pairs: product of the signs, truths differ, scores differ, right order (a half for equal scores)."""
    s = np.sign(score[:, None] - score[None, :])
    t = np.sign(truth[:, None] - truth[None, :])
    product = s * t
    return product, np.abs(t), np.abs(s), np.abs(t) * (1 + product) / 2


def _read(sums: F8) -> tuple[F8, F8]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums[:, 0] / np.sqrt(sums[:, 1] * sums[:, 2]), sums[:, 3] / sums[:, 1]


def _ends(draws: F8, n: int) -> tuple[float, float]:
    finite = draws[np.isfinite(draws)]
    return (NOTHING, NOTHING) if len(finite) < 20 else central(finite, n, 0.95)


def _spearman(score: F8, truth: F8) -> float:
    from scipy.stats import rankdata

    a, b = rankdata(score), rankdata(truth)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return NOTHING
    return float(np.corrcoef(a, b)[0, 1])


def _mean_rho(rhos: list[tuple[float, int]]) -> tuple[float, float, float]:
    """Mean of rho weighted by items, with Fisher's interval; a group of n items has n - 3 degrees of freedom."""
    if not rhos:
        return NOTHING, NOTHING, NOTHING
    value = float(np.average([r for r, _ in rhos], weights=[n for _, n in rhos]))
    free = sum(n - 3 for _, n in rhos if n > 3)
    if free < 1 or abs(value) >= 1:
        return value, NOTHING, NOTHING
    z, half = np.arctanh(value), 1.96 * 1.03 / np.sqrt(free)
    return value, float(np.tanh(z - half)), float(np.tanh(z + half))


# Components up to this size get their bound from simulated draws, larger ones from Bonferroni's inequality.
DRAWN, DRAWS = 60, 2000
_CELLS = 20_000_000


@dataclass(frozen=True, eq=False)
class RankIntervals:
    """Simultaneous confidence intervals of the ranks within each component, rank_low..rank_high, and groups.

    Group 1 is the first. The members of a group cannot be distinguished from its best item.
    """

    rank_low: I8
    rank_high: I8
    group: I8


def places(score: F8, blocks: list[ScoreBlock], level: float, seed: int = 0) -> RankIntervals:
    """Derive ranks and groups from the score differences of all pairs, at a simultaneous confidence level."""
    low, high, group = (np.ones(len(score), dtype=np.int64) for _ in range(3))
    for block in blocks:
        size = block.members.shape[1]
        bound = _bound(block, level, seed)
        step = max(1, _CELLS // size**2) if block.covariance is not None else 1
        for lo in range(0, len(block.members), step):
            components = slice(lo, lo + step)
            above, below = _counts(block, components, score, bound)
            members = block.members[components]
            low[members], high[members] = 1 + above, size - below
            for component, group_of in zip(members, _groups(block, components, score, bound), strict=True):
                group[component] = group_of
    return RankIntervals(low, high, group)


def _bound(block: ScoreBlock, level: float, seed: int) -> F8:
    """Number of standard errors from which a difference is significant, for each component."""
    from scipy.stats import norm

    n, size = block.members.shape
    pairs = max(size * (size - 1) // 2, 1)
    plain = np.full(n, float(norm.ppf(1 - (1 - level) / (2 * pairs))))
    if block.covariance is None or size > DRAWN or size < 3 or n > 50:
        return plain
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(DRAWS, size))
    for i, full in enumerate(block.covariance):
        values, vectors = np.linalg.eigh(full)
        z = noise @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        one, two = np.triu_indices(size, 1)
        se = np.sqrt(np.maximum(full[one, one] + full[two, two] - 2 * full[one, two], 1e-300))
        plain[i] = np.quantile(np.abs((z[:, one] - z[:, two]) / se).max(axis=1), level)
    return plain


def _variance(block: ScoreBlock, components: slice, rows: slice) -> F8:
    """Variance of the differences of some members (rows) from all, [component, row, member]."""
    v = block.variance[components]
    out: F8 = v[:, rows, None] + v[:, None, :]
    return out if block.covariance is None else np.maximum(out - 2 * block.covariance[components][:, rows], 0.0)


def _counts(block: ScoreBlock, components: slice, score: F8, bound: F8) -> tuple[I8, I8]:
    """Numbers of members that are significantly above and below each member."""
    s = score[block.members[components]]
    above, below = np.zeros(s.shape, dtype=np.int64), np.zeros(s.shape, dtype=np.int64)
    step = max(1, _CELLS // max(s.size, 1))
    for lo in range(0, s.shape[1], step):
        rows = slice(lo, lo + step)
        gap = s[:, None, :] - s[:, rows, None]
        need = bound[components][:, None, None] * np.sqrt(_variance(block, components, rows))
        above[:, rows], below[:, rows] = (gap > need).sum(axis=2), (-gap > need).sum(axis=2)
    return above, below


def _groups(block: ScoreBlock, components: slice, score: F8, bound: F8) -> I8:
    """Assign groups from the best item down: an item starts a new group if it differs from the head of the last."""
    members = block.members[components]
    s = score[members]
    order = np.argsort(-s, axis=1, kind="stable")
    n, size = s.shape
    out = np.ones((n, size), dtype=np.int64)
    v = block.variance[components]
    rows, head, group = np.arange(n), order[:, 0].copy(), np.ones(n, dtype=np.int64)
    for place in range(1, size):
        at = order[:, place]
        var = v[rows, head] + v[rows, at]
        if block.covariance is not None:
            var = np.maximum(var - 2 * block.covariance[components][rows, head, at], 0.0)
        new = s[rows, head] - s[rows, at] > bound[components] * np.sqrt(var)
        group += new
        head = np.where(new, at, head)
        out[rows, at] = group
    return out


# ----------------------------------------------------------------
# Reliability of each worker given scores: the posterior of e_m in P = e s(d) + (1 - e) s(-d), on a grid.

GRID = (np.arange(60) + 0.5) / 60


@dataclass(frozen=True, eq=False)
class ReliabilityPosterior:
    """Posterior density[worker, knot of GRID] of the reliability, its mean and its 95 % interval."""

    density: F8
    mean: F8
    low: F8
    high: F8

    def below(self, limit: float) -> F8:
        """P(reliability < limit) of each worker."""
        return np.asarray(self.density[:, limit > GRID].sum(axis=1))


def reliability(rows: PairRows, score: F8, a: float = 2.0, b: float = 1.0) -> ReliabilityPosterior:
    """Estimate the reliability of each worker. Ties are ignored; workers without answers keep the prior Beta(a, b)."""
    prior = (a - 1) * np.log(GRID) + (b - 1) * np.log1p(-GRID)
    log = np.tile(prior, (rows.n_workers, 1))
    decided = np.flatnonzero(rows.outcome != 2)
    d = score[rows.left[decided]] - score[rows.right[decided]]
    s = np.exp(-np.logaddexp(0.0, -np.where(rows.outcome[decided] == 0, d, -d)))  # of the chosen side
    worker, w = rows.worker[decided], rows.weights[decided]
    for j, knot in enumerate(GRID):
        log[:, j] += np.bincount(worker, w * np.log(knot * s + (1 - knot) * (1 - s)), rows.n_workers)
    density = np.exp(log - log.max(axis=1, keepdims=True))
    density /= density.sum(axis=1, keepdims=True)
    cum = np.cumsum(density, axis=1)
    low, high = (GRID[np.minimum((cum < q).sum(axis=1), len(GRID) - 1)] for q in (0.025, 0.975))
    mean = density @ GRID
    return ReliabilityPosterior(density, mean, np.minimum(low, mean), np.maximum(high, mean))
