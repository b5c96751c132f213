"""Time per label: the pauses between a worker's labels, long ones being breaks."""

from __future__ import annotations

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
