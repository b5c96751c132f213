"""Pulling in wild answers: one of them would move every estimate through the crowd's mean and variances."""

from __future__ import annotations

import numpy as np

from .rows import F8, Rows
from .simple import trimmed_of

REACH = 8.0


def clamped(rows: Rows, reach: float = REACH) -> tuple[Rows, float]:
    """Rows whose answers lie at most `limit` from their task's median, and the limit.

    The limit is `reach` times the median distance of an answer from its task's median, among distances above zero.
    """
    middle = trimmed_of(rows, 0.5)
    limit = limit_of(rows, middle, reach)
    return pulled(rows, middle, limit), limit


def limit_of(rows: Rows, middle: F8, reach: float = REACH) -> float:
    """How far from its task's median an answer may lie; infinite where no answer differs from it."""
    distance = np.abs(rows.value - middle[rows.task])
    some = distance > 0
    if not some.any():
        return np.inf
    weight = None if rows.weight is None else rows.weight[some]
    one = np.zeros(int(some.sum()), dtype=np.int32)
    return reach * float(trimmed_of(Rows(one, one, distance[some], weight, 1, 1), 0.5)[0])


def pulled(rows: Rows, middle: F8, limit: float) -> Rows:
    """Answers further than the limit from the middle of their task are pulled to that distance."""
    centre = middle[rows.task]
    return rows.with_value(np.clip(rows.value, centre - limit, centre + limit))
