"""Bootstrap intervals of functions of sums over tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8

# If there are more tasks, they are first summed in random blocks of equal size, which are exchangeable like tasks: the
# spread of a sum over 2,000 blocks is known to 2 %, whatever the number of tasks.
MAX_BLOCKS = 2_000
DRAWS = 1_000
# Draws at a time; their counts fit into the processor's cache.
_PART = 50


def random_blocks(n: int, n_blocks: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return block[task] in 0..n_blocks - 1 with sizes that differ by at most one; one task per block if there
    are few.
    """
    return np.arange(n) if n <= n_blocks else rng.permutation(n) % n_blocks


def bootstrap_interval(
    terms: F8, statistic: Callable[[F8], F8], level: float, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Expanded percentile interval of statistic(sums[draw, term]), the sums of terms[block, term].

    Percentiles as in `central` (Hesterberg 2015, doi:10.1080/00031305.2015.1089789). None if the statistic is undefined
    in more than a twentieth of the draws.
    """
    n = len(terms)
    if n < 3:
        return None
    values = np.concatenate([statistic(times_drawn(_PART, n, rng) @ terms) for _ in range(DRAWS // _PART)])
    values = values[np.isfinite(values)]
    if len(values) < 0.95 * DRAWS:
        return None
    return central(values, n, level)


def bootstrap_intervals(
    terms: F8, statistics: Mapping[str, Callable[[F8], F8]], level: float, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Return `bootstrap_interval` of several statistics, without those that have none."""
    intervals = {name: bootstrap_interval(terms, statistic, level, rng) for name, statistic in statistics.items()}
    return {name: interval for name, interval in intervals.items() if interval is not None}


def ratio_of_sums(top: int, bottom: int) -> Callable[[F8], F8]:
    """Return the statistic sums[:, top] / sums[:, bottom], NaN where the latter is 0."""

    def ratio(sums: F8) -> F8:
        over, under = sums[:, top], sums[:, bottom]
        return np.asarray(np.divide(over, under, out=np.full(len(sums), np.nan), where=under > 0))

    return ratio


def resampled_intervals(
    n: int, resamples: int, seed: int, scores: Callable[[F8], Mapping[str, F8]], draws_at_a_time: int = 200
) -> dict[str, tuple[float, float]]:
    """Return 95 % intervals of several scores of n tasks; scores(times[draw, task]) returns score[draw] by name."""
    rng = np.random.default_rng(seed)
    drawn: dict[str, list[F8]] = {}
    for first in range(0, resamples, draws_at_a_time):
        times = times_drawn(min(draws_at_a_time, resamples - first), n, rng)
        for name, values in scores(times).items():
            drawn.setdefault(name, []).append(values)
    return {name: central(np.concatenate(values), n, 0.95) for name, values in drawn.items()}


def central(values: F8, n: int, level: float) -> tuple[float, float]:
    """Return the central share `level` of values drawn from n tasks.

    The percentiles are those of a t distribution, widened by sqrt(n / (n - 1)); plain ones are too narrow for few tasks
    (Hesterberg 2015).

    >>> [round(end, 1) for end in central(np.arange(1001.0), 1000, 0.9)]
    [49.8, 950.2]
    """
    from scipy.special import ndtr, stdtrit

    tail = float(ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, (1 - level) / 2))) if n > 1 else 0.0
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def times_drawn(draws: int, n: int, rng: np.random.Generator) -> F8:
    """Return times[draw, block]: how often each of n blocks is among n drawn with replacement."""
    place = rng.integers(n, size=(draws, n)) + n * np.arange(draws)[:, None]
    return np.bincount(place.ravel(), minlength=draws * n).reshape(draws, n).astype(np.float64)
