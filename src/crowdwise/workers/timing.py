"""Time per label: the pauses between a worker's labels, long ones being breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.votes import Votes

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


def in_time(annotations: Votes[Any]) -> I8:
    """Row numbers with a time, by worker, then time, then task; empty where there are no times."""
    if annotations.time is None:
        return np.empty(0, dtype=np.int64)
    rows = np.flatnonzero(np.isfinite(annotations.time))
    return rows[np.lexsort((annotations.task[rows], annotations.time[rows], annotations.worker[rows]))]


def timing(annotations: Votes[Any], idle: float) -> dict[str, F8 | I8]:
    """Of each worker: median and quartiles of the seconds from one label to the next, and the number of breaks.

    Pauses longer than `idle` seconds are breaks and left out; NaN without two labels in a row that have times.
    """
    m = annotations.n_workers
    rows = in_time(annotations)
    out = np.full((3, m), np.nan)
    breaks = np.zeros(m, dtype=np.int64)
    if len(rows) > 1 and annotations.time is not None:
        same = annotations.worker[rows[1:]] == annotations.worker[rows[:-1]]
        who = annotations.worker[rows[1:]][same]
        pause = np.diff(annotations.time[rows])[same]
        long = pause > idle
        breaks = np.bincount(who[long], minlength=m)
        who, pause = who[~long], pause[~long]
        edges = np.searchsorted(who, np.arange(m + 1))
        for w in np.unique(who).tolist():
            out[:, w] = np.quantile(pause[edges[w] : edges[w + 1]], [0.25, 0.5, 0.75])
    return {"seconds_median": out[1], "seconds_q1": out[0], "seconds_q3": out[2], "n_idle": breaks}


# ----------------------------------------------------------------
# How long an answer takes, and who is far quicker than the crowd.

# Answers with a time that a worker, and workers that a crowd, must have to be compared.
LEAST, CROWD = 8, 5
# So many times quicker than the crowd's usual worker at least, and so many of the crowd's own spreads.
TIMES, SPREADS = 4.0, 4.0
# A crowd that works in step has no spread of its own: so much of a logarithm it is always taken to have.
STEP = 0.2


@dataclass(frozen=True, eq=False)
class Speed:
    """Of each worker: median and quartiles of the seconds an answer takes (NaN: not known), and from how many answers.

    `usual` is the median over workers with enough answers, `quick` marks those far below it.
    """

    median: F8
    q1: F8
    q3: F8
    n: I8
    usual: float
    quick: npt.NDArray[np.bool_]


def speed(votes: Votes[Any], idle: float = 600.0) -> Speed:
    """From durations where there are some, else from the pauses between a worker's answers, breaks left out.

    Zero seconds were not measured: tools save a page of answers at one moment.
    """
    who, seconds = _seconds(votes)
    keep = np.isfinite(seconds) & (seconds > 0) & (seconds <= idle)
    who, seconds = who[keep], seconds[keep]
    order = np.argsort(who, kind="stable")
    who, seconds = who[order], seconds[order]
    edges = np.searchsorted(who, np.arange(votes.n_workers + 1))
    out = np.full((3, votes.n_workers), np.nan)
    for w in np.unique(who).tolist():
        out[:, w] = np.quantile(seconds[edges[w] : edges[w + 1]], [0.25, 0.5, 0.75])
    n = np.diff(edges)
    usual, quick = _quick(out[1], n)
    return Speed(out[1], out[0], out[2], n, usual, quick)


def _seconds(votes: Votes[Any]) -> tuple[npt.NDArray[np.int32], F8]:
    if votes.duration is not None:
        return votes.worker, votes.duration
    rows = in_time(votes)
    if votes.time is None or len(rows) < 2:
        return votes.worker[:0], np.empty(0)
    same = votes.worker[rows[1:]] == votes.worker[rows[:-1]]
    return votes.worker[rows[1:]][same], np.diff(votes.time[rows])[same]


def _quick(median: F8, n: I8) -> tuple[float, npt.NDArray[np.bool_]]:
    """Medians are compared as logarithms: half the time is as far off as twice the time."""
    known = (n >= LEAST) & np.isfinite(median)
    quick = np.zeros(len(median), dtype=bool)
    if known.sum() < CROWD:
        return float("nan"), quick
    log = np.log(median[known])
    middle = float(np.median(log))
    spread = max(1.4826 * float(np.median(np.abs(log - middle))), STEP)
    quick[known] = log < middle - max(SPREADS * spread, np.log(TIMES))
    return float(np.exp(middle)), quick
