"""Does a worker get better or worse? Learning curves, and an alarm where their accuracy changed.

x_t = how far the others confirm their t-th label, less its mean; under no change the largest partial sum of x, over its
standard deviation and sqrt(n), is the maximum of a Brownian bridge, whose law is Kolmogorov's. P-values are adjusted
for the number of workers (Benjamini-Hochberg). Page (1954), doi:10.1093/biomet/41.1-2.100.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import DataError
from ....core.result import Result
from ....stats.discovery import adjusted
from ....workers.flags import Flag, examples
from ....workers.timing import in_time
from ..annotations import Annotations
from .judgement import Judgement

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Fewer labels with times are not tested; an alarm needs this adjusted p-value.
MIN_LABELS = 30
LEVEL = 0.01


@dataclass(frozen=True)
class Alarms:
    """Of each worker: adjusted p-value, labels before the change,
    mean confirmation before and after (NaN: not tested)."""

    p_value: F8
    change: I8
    before: F8
    after: F8

    def columns(self) -> dict[str, F8]:
        """As columns of the quality table."""
        return {"drift_p": self.p_value, "drift_before": self.before, "drift_after": self.after}


def alarms(judgement: Judgement) -> Alarms:
    """Test every worker with enough labels that have times."""
    from scipy.special import kolmogorov

    m = judgement.annotations.n_workers
    found = Alarms(np.full(m, np.nan), np.zeros(m, dtype=np.int64), np.full(m, np.nan), np.full(m, np.nan))
    for w, rows in runs(judgement.annotations, MIN_LABELS):
        x = judgement.confirmed[rows]
        n, spread = len(x), float(x.std())
        if spread < 1e-9:
            found.p_value[w] = 1.0
            found.before[w] = found.after[w] = x.mean()
            continue
        walk = np.abs(np.cumsum(x - x.mean())[:-1])
        at = int(walk.argmax()) + 1
        found.p_value[w] = kolmogorov(walk.max() / (spread * np.sqrt(n)))
        found.change[w], found.before[w], found.after[w] = at, x[:at].mean(), x[at:].mean()
    tested = np.isfinite(found.p_value)
    found.p_value[tested] = adjusted(found.p_value[tested])
    return found


def runs(annotations: Annotations, fewest: int) -> list[tuple[int, I8]]:
    """Each worker with `fewest` labels that have times, and their rows in time."""
    rows = in_time(annotations)
    edges = np.searchsorted(annotations.worker[rows], np.arange(annotations.n_workers + 1))
    sizes = np.diff(edges)
    return [(w, rows[edges[w] : edges[w + 1]]) for w in np.flatnonzero(sizes >= fewest).tolist()]


def drift_flags(annotations: Annotations, result: Result, level: float = LEVEL) -> list[Flag]:
    """A flag `drift` for every worker whose accuracy changed; nothing without times."""
    return flags_of(Judgement(annotations, result), level)


def flags_of(judgement: Judgement, level: float = LEVEL) -> list[Flag]:
    """The same from a judgement."""
    votes, seen = judgement.annotations, alarms(judgement)
    out = []
    for w, rows in runs(votes, MIN_LABELS):
        if not seen.p_value[w] <= level:
            continue
        way = "fell" if seen.after[w] < seen.before[w] else "rose"
        words = (
            f"agreement with the others {way} from {seen.before[w]:.0%} in the first {seen.change[w]} labels to "
            f"{seen.after[w]:.0%} in the {len(rows) - seen.change[w]} since"
        )
        later = votes.task[rows[seen.change[w] :]]
        out.append(Flag(votes.workers[w], "drift", None, float(seen.p_value[w]), words, examples(votes, later)))
    return out


def learning_curve(annotations: Annotations, result: Result, window: int = 20) -> pl.DataFrame:
    """worker, position (labels so far), time, accuracy: the mean confirmation of their last `window` labels.

    Needs times: without them the order in which labels were given is not known.
    """
    return curve_of(Judgement(annotations, result), window)


def curve_of(judgement: Judgement, window: int = 20) -> pl.DataFrame:
    """The same from a judgement; an empty table where no worker has `window` labels with times."""
    if window < 1:
        raise DataError(f"window must be at least 1, got {window}")
    votes = judgement.annotations
    parts = []
    for w, rows in runs(votes, window):
        assert votes.time is not None
        total = np.cumsum(np.r_[0.0, judgement.confirmed[rows]])
        place = np.arange(window, len(rows) + 1)
        parts.append(
            (np.full(len(place), w), place, votes.time[rows[place - 1]], (total[place] - total[place - window]))
        )
    who, place, when, hits = (
        (np.concatenate(c) for c in zip(*parts, strict=True))
        if parts
        else (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
    )
    return pl.DataFrame(
        {"worker": votes.workers.gather(who), "position": place, "time": when, "accuracy": hits / window}
    )
