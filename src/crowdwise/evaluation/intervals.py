"""95 % bootstrap intervals of the scores: tasks are drawn with replacement, all draws at once.

Every score is a function of sums over tasks: plain means (accuracy, log-loss, Brier), the absolute sums of the
calibration bins (ECE), or the counts of each class (macro F1). A resample is therefore a row of task counts, and all
scores of all resamples come from one sparse product; the bins are those of the drawn tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import F8, I8
from ..stats.bootstrap import central, times_drawn
from ..stats.clusters import design_effect

LEVEL = 0.95
# Shares of tasks have Jeffreys intervals: the bootstrap interval of 20 right labels out of 20 has no width.
SHARES = ("accuracy", "expected_accuracy")
# Cells (resample, task) of task counts that are made at a time: 32 MB.
_CELLS = 4_000_000
# With very many tasks fewer resamples are enough: at most so many draws in all, but at least _FEWEST resamples.
_DRAWS = 100_000_000
_FEWEST = 200


@dataclass(frozen=True)
class ScoreTerms:
    """Contribution of each task to the scores: means[name][task], predicted and true codes, and calibration bin.

    `cluster` holds codes from 0 of tasks that belong together, if any. Without probabilities `bin` is None; with them
    `means` holds "mean_confidence" and "expected_accuracy".
    """

    means: dict[str, F8]
    predicted: I8
    true: I8
    n_classes: int
    bin: I8 | None = None
    cluster: I8 | None = None

    @property
    def gap(self) -> F8:
        """Confidence minus hit (1 or 0) of each task."""
        return self.means["mean_confidence"] - self.means["expected_accuracy"]


def intervals(terms: ScoreTerms, resamples: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return the central 95 % interval of each score over resampled tasks.

    The ECE of a resample is too high by about as much as that of the sample (chance creates gaps), so its interval
    mirrors the resamples around the measured value. It starts at zero if a perfectly calibrated method with these
    confidences would often measure as much.
    """
    rng = np.random.default_rng(seed)
    sums, places = _sums(terms, resamples, rng)
    n = units = len(terms.true)
    n_drawn = sums[:, places["tasks"]][:, 0]
    if terms.cluster is not None:
        units = int(terms.cluster.max()) + 1
    limits = {
        name: jeffreys(value.mean(), effective_size(value, terms.cluster))
        if name in SHARES
        else central(sums[:, places[name]][:, 0] / n_drawn, units, LEVEL)
        for name, value in terms.means.items()
    }
    hits, sizes = sums[:, places["right"]], sums[:, places["both"]]
    f1 = np.divide(2 * hits, sizes, out=np.zeros_like(hits), where=sizes > 0)
    limits["macro_f1"] = central(f1.sum(axis=1) / (sizes > 0).sum(axis=1), units, LEVEL)
    if (terms.predicted == terms.true).all():  # every resample is perfect too
        limits["macro_f1"] = jeffreys(1.0, units)
    if terms.bin is not None:
        measured = float(np.abs(np.bincount(terms.bin, weights=terms.gap)).sum() / n)
        low, high = central(np.abs(sums[:, places["bin"]]).sum(axis=1) / n_drawn, units, LEVEL)
        calibrated = measured <= _by_chance(terms.means["mean_confidence"], terms.bin, rng)
        limits["ece"] = (0.0 if calibrated else max(0.0, 2 * measured - high), max(measured, 2 * measured - low))
    return limits


def jeffreys(share: float, n: float) -> tuple[float, float]:
    """Return the central 95 % interval of Beta(hits + 1/2, misses + 1/2), extended to 0 or 1 if none or all are hits.

    Brown, Cai & DasGupta (2001), Statistical Science 16(2), doi:10.1214/ss/1009213286.
    """
    from scipy.special import betaincinv

    a, b = share * n + 0.5, (1 - share) * n + 0.5
    low, high = (float(betaincinv(a, b, tail)) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return (0.0 if share <= 0 else low), (1.0 if share >= 1 else high)


def effective_size(value: F8, cluster: I8 | None) -> float:
    """Return how many independent tasks tell as much about the mean of these values as tasks in clusters."""
    n = len(value)
    if cluster is None:
        return n
    residual = value - value.mean()
    return n / design_effect(residual / n, cluster, value, np.arange(n), LEVEL)


def _by_chance(p: F8, place: I8, rng: np.random.Generator) -> float:
    """Return the ECE that a perfectly calibrated method exceeds once in 40 times; the gaps of its bins are nearly
    normal.
    """
    spread = np.sqrt(np.bincount(place, weights=np.clip(p * (1 - p), 0, None)))
    ece = np.abs(rng.normal(size=(2000, len(spread))) * spread).sum(axis=1) / len(p)
    return float(np.quantile(ece, (1 + LEVEL) / 2))


def _sums(terms: ScoreTerms, resamples: int, rng: np.random.Generator) -> tuple[F8, dict[str, slice]]:
    """Return sums[resample, column] and the columns of each group."""
    from scipy.sparse import csr_array

    n, k = len(terms.true), terms.n_classes
    rows = np.arange(n)
    means = terms.means | {"tasks": np.ones(n)}
    groups = [(name, 1, rows, np.zeros(n, dtype=np.int64), value) for name, value in means.items()]
    hit = terms.predicted == terms.true
    groups.append(("right", k, rows[hit], terms.true[hit], np.ones(int(hit.sum()))))
    groups.append(("both", k, np.tile(rows, 2), np.concatenate([terms.predicted, terms.true]), np.ones(2 * n)))
    if terms.bin is not None:
        groups.append(("bin", int(terms.bin.max()) + 1, rows, terms.bin, terms.gap))
    ends = np.cumsum([0, *(width for _, width, *_ in groups)])
    places = {group[0]: slice(int(a), int(b)) for group, a, b in zip(groups, ends[:-1], ends[1:], strict=True)}
    column = np.concatenate([group[3] + start for group, start in zip(groups, ends[:-1], strict=True)])
    row, value = (np.concatenate([group[i] for group in groups]) for i in (2, 4))
    table = csr_array((value, (column, row)), shape=(int(ends[-1]), n))
    if terms.cluster is not None:  # clusters are drawn, each with all its tasks
        table = table @ csr_array((np.ones(n), (rows, terms.cluster)))
        n = table.shape[1]
    times = max(min(resamples, _DRAWS // n), min(resamples, _FEWEST))
    step = max(1, _CELLS // n)
    parts = []
    for lo in range(0, times, step):
        size = min(step, times - lo)
        parts.append((table @ times_drawn(size, n, rng).T).T)
    return np.concatenate(parts), places
