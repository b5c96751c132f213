"""Budget allocation: votes go where the gain per vote is highest."""

from __future__ import annotations

import numpy as np

from ..core.arrays import F8, I8


def steps(gain: F8, most: I8) -> tuple[I8, I8, F8]:
    """Return (task, votes, gain per vote) of each worthwhile step, best first.

    gain[task, m - 1] is the joint gain of m votes, most[task] the maximum number of votes. One vote may bring nothing
    where two turn the label: a task's steps are those of the upper hull of its curve, so their gain per vote falls.
    """
    n, width = gain.shape
    curve = np.concatenate([np.zeros((n, 1)), gain], axis=1)
    curve[np.arange(width + 1) > np.minimum(most, width)[:, None]] = -np.inf
    at, rows = np.zeros(n, np.int64), np.arange(n)
    parts: list[tuple[I8, I8, F8]] = []
    for _ in range(width):
        distance = np.arange(width + 1) - at[rows][:, None]
        slope = np.where(
            distance > 0, (curve[rows] - curve[rows, at[rows]][:, None]) / np.maximum(distance, 1), -np.inf
        )
        to = slope.argmax(axis=1)
        best = slope[np.arange(len(rows)), to]
        good = best > 1e-12
        rows, to, best = rows[good], to[good], best[good]
        parts.append((rows, to - at[rows], best))
        at[rows] = to
    task, votes, slope = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((task, -slope))
    return task[order], votes[order], slope[order]


def allocate(gain: F8, most: I8, budget: float) -> I8:
    """Return votes[task] for a budget of votes."""
    out = np.zeros(len(gain), np.int64)
    task, votes, _ = steps(gain, most)
    left = int(budget)
    for t, m in zip(task.tolist(), votes.tolist(), strict=True):
        if left <= 0:
            break
        out[t] += min(m, left)
        left -= min(m, left)
    return out
