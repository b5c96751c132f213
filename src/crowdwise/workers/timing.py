"""Working time per label: the durations in the file, else the pauses between a worker's labels without breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8, I8
from ..core.votes import Votes


def in_time(annotations: Votes[Any]) -> I8:
    """Return the rows with a time, sorted by worker, time and task; empty without times."""
    if annotations.time is None:
        return np.empty(0, dtype=np.int64)
    rows = np.flatnonzero(np.isfinite(annotations.time))
    return rows[np.lexsort((annotations.task[rows], annotations.time[rows], annotations.worker[rows]))]


def timing(annotations: Votes[Any], idle: float) -> dict[str, F8 | I8]:
    """Return median and quartiles of the seconds per label, and the number of breaks, for each worker.

    Longer times than `idle` seconds are breaks and left out; NaN without durations or two consecutive labels with
    times.
    """
    m = annotations.n_workers
    worker, seconds = _seconds(annotations)
    is_break = seconds > idle
    keep = np.isfinite(seconds) & (seconds >= 0) & ~is_break
    breaks = np.bincount(worker[is_break], minlength=m)
    return {**_quartiles(worker[keep], seconds[keep], m), "n_idle": breaks}


def _quartiles(worker: npt.NDArray[Any], seconds: F8, m: int) -> dict[str, F8]:
    """Return median and quartiles for each worker; NaN without values."""
    order = np.argsort(worker, kind="stable")
    worker, seconds = worker[order], seconds[order]
    edges = np.searchsorted(worker, np.arange(m + 1))
    out = np.full((3, m), np.nan)
    for w in np.unique(worker).tolist():
        out[:, w] = np.quantile(seconds[edges[w] : edges[w + 1]], [0.25, 0.5, 0.75])
    return {"seconds_median": out[1], "seconds_q1": out[0], "seconds_q3": out[2]}


# ----------------------------------------------------------------
# Time per answer, and workers who are far faster than the crowd.

# Minimum number of timed answers of a worker, and of such workers in a crowd, for a comparison.
LEAST, CROWD = 8, 5
# A fast worker is at least this many times faster than the median worker, and this many spreads of the crowd.
TIMES, SPREADS = 4.0, 4.0
# Lower bound of the spread of the logarithms, for crowds whose workers all take the same time.
STEP = 0.2


@dataclass(frozen=True, eq=False)
class Speed:
    """Median and quartiles of the seconds per answer of each worker (NaN: unknown), and the number of timed answers.

    `usual` is the median over workers with enough answers; `quick` marks workers far below it.
    """

    median: F8
    q1: F8
    q3: F8
    n: I8
    usual: float
    quick: npt.NDArray[np.bool_]


def speed(votes: Votes[Any], idle: float = 600.0) -> Speed:
    """Return the speed of workers from durations, else from the pauses between a worker's answers without breaks.

    Zero seconds are ignored: tools save a page of answers at one moment.
    """
    worker, seconds = _seconds(votes)
    keep = np.isfinite(seconds) & (seconds > 0) & (seconds <= idle)
    quartiles = _quartiles(worker[keep], seconds[keep], votes.n_workers)
    n = np.bincount(worker[keep], minlength=votes.n_workers)
    median = quartiles["seconds_median"]
    usual, quick = _quick(median, n)
    return Speed(median, quartiles["seconds_q1"], quartiles["seconds_q3"], n, usual, quick)


def _seconds(votes: Votes[Any]) -> tuple[npt.NDArray[np.int32], F8]:
    """Return workers and seconds of the rows: a duration is measured, a pause may be anything."""
    if votes.duration is not None and np.isfinite(votes.duration).any():
        return votes.worker, votes.duration
    rows = in_time(votes)
    if votes.time is None or len(rows) < 2:
        return votes.worker[:0], np.empty(0)
    same = votes.worker[rows[1:]] == votes.worker[rows[:-1]]
    return votes.worker[rows[1:]][same], np.diff(votes.time[rows])[same]


def _quick(median: F8, n: I8) -> tuple[float, npt.NDArray[np.bool_]]:
    """Compare medians as logarithms, so that half the time is as far off as twice the time."""
    enough = (n >= LEAST) & np.isfinite(median)
    quick = np.zeros(len(median), dtype=bool)
    if enough.sum() < CROWD:
        return float("nan"), quick
    log = np.log(median[enough])
    middle = float(np.median(log))
    spread = max(1.4826 * float(np.median(np.abs(log - middle))), STEP)
    quick[enough] = log < middle - max(SPREADS * spread, np.log(TIMES))
    return float(np.exp(middle)), quick
