"""Changes of a worker's accuracy over time: learning curves and a test for drift.

x_t is the probability of the worker's t-th label by the others, minus its mean. Without a change, the largest absolute
partial sum of x divided by its standard deviation and sqrt(n) is distributed as the maximum of a Brownian bridge
(Kolmogorov distribution). P-values are adjusted for the number of workers (Benjamini-Hochberg). Page (1954),
doi:10.1093/biomet/41.1-2.100.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ....core.arrays import F8, I8
from ....core.errors import DataError
from ....core.result import Result
from ....stats.discovery import adjusted
from ....workers.flags import Flag, examples
from ....workers.timing import in_time
from ..annotations import Annotations
from .judgement import Judgement

# Least number of labels with times for a test, and adjusted p-value of a flag.
MIN_LABELS = 30
LEVEL = 0.01


@dataclass(frozen=True)
class DriftTests:
    """For each worker, the adjusted p-value, the number of labels before the change, and the mean confirmation before
    and after it (NaN if not tested)."""

    p_value: F8
    change: I8
    before: F8
    after: F8

    def columns(self) -> dict[str, F8]:
        """Return the columns for the quality table."""
        return {"drift_p": self.p_value, "drift_before": self.before, "drift_after": self.after}


def drift_tests(judgement: Judgement) -> DriftTests:
    """Test every worker with enough labels with times."""
    from scipy.special import kolmogorov

    m = judgement.annotations.n_workers
    tests = DriftTests(np.full(m, np.nan), np.zeros(m, dtype=np.int64), np.full(m, np.nan), np.full(m, np.nan))
    for w, rows in runs(judgement.annotations, MIN_LABELS):
        x = judgement.confirmed[rows]
        n, deviation_ = len(x), float(x.std())
        if deviation_ < 1e-9:
            tests.p_value[w] = 1.0
            tests.before[w] = tests.after[w] = x.mean()
            continue
        deviation = np.abs(np.cumsum(x - x.mean())[:-1])
        change = int(deviation.argmax()) + 1
        tests.p_value[w] = kolmogorov(deviation.max() / (deviation_ * np.sqrt(n)))
        tests.change[w], tests.before[w], tests.after[w] = change, x[:change].mean(), x[change:].mean()
    tested = np.isfinite(tests.p_value)
    tests.p_value[tested] = adjusted(tests.p_value[tested])
    return tests


def runs(annotations: Annotations, fewest: int) -> list[tuple[int, I8]]:
    """Return the workers with at least `fewest` labels with times, and their rows in order of time."""
    rows = in_time(annotations)
    edges = np.searchsorted(annotations.worker[rows], np.arange(annotations.n_workers + 1))
    sizes = np.diff(edges)
    return [(w, rows[edges[w] : edges[w + 1]]) for w in np.flatnonzero(sizes >= fewest).tolist()]


def drift_flags(annotations: Annotations, result: Result, level: float = LEVEL) -> list[Flag]:
    """Flag `drift` for every worker whose accuracy changed; no flags without times."""
    return flags_of(Judgement(annotations, result), level)


def flags_of(judgement: Judgement, level: float = LEVEL) -> list[Flag]:
    """Like `drift_flags`, from a judgement."""
    votes, tests = judgement.annotations, drift_tests(judgement)
    out = []
    for w, rows in runs(votes, MIN_LABELS):
        if not tests.p_value[w] <= level:
            continue
        direction = "fell" if tests.after[w] < tests.before[w] else "rose"
        evidence = (
            f"agreement with the others {direction} from {tests.before[w]:.0%} in the first {tests.change[w]} labels "
            f"to {tests.after[w]:.0%} in the {len(rows) - tests.change[w]} since"
        )
        later = votes.task[rows[tests.change[w] :]]
        out.append(Flag(votes.workers[w], "drift", None, float(tests.p_value[w]), evidence, examples(votes, later)))
    return out


def learning_curve(annotations: Annotations, result: Result, window: int = 20) -> pl.DataFrame:
    """Compute the learning curve of every worker.

    Args:
        annotations: The votes; times are required, because without them the order of the labels is not known.
        result: A result fitted on these votes.
        window: Number of labels per average.

    Returns:
        A table worker, position (labels so far), time, accuracy (mean confirmation of the last `window` labels).
    """
    return curve_of(Judgement(annotations, result), window)


def curve_of(judgement: Judgement, window: int = 20) -> pl.DataFrame:
    """Like `learning_curve`, from a judgement; empty if no worker has `window` labels with times."""
    if window < 1:
        raise DataError(f"window must be at least 1, got {window}")
    votes = judgement.annotations
    parts = []
    for w, rows in runs(votes, window):
        assert votes.time is not None
        total = np.cumsum(np.r_[0.0, judgement.confirmed[rows]])
        positions = np.arange(window, len(rows) + 1)
        parts.append(
            (
                np.full(len(positions), w),
                positions,
                votes.time[rows[positions - 1]],
                (total[positions] - total[positions - window]),
            )
        )
    workers, positions, times, hits = (
        (np.concatenate(c) for c in zip(*parts, strict=True))
        if parts
        else (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
    )
    return pl.DataFrame(
        {"worker": votes.workers.gather(workers), "position": positions, "time": times, "accuracy": hits / window}
    )
