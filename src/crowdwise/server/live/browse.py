"""Pages of tasks by filters and in an order, continued behind the last task of the page before (keyset paging)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...active.stopping import REASONS
from ..problems import Problem
from .baseline import summary_of
from .state import Live
from .status import state_of, task_row
from .task_columns import ORDERS, STEP, TaskColumns

STATES = tuple(state_of(reason) for reason in REASONS)


@dataclass(frozen=True)
class Filters:
    """Filters of a page; None does not filter. `codes` are the tasks of a text search or of a worker."""

    state: str | None = None
    label: str | None = None
    above: float | None = None
    below: float | None = None
    disagreement: float | None = None
    flagged: bool | None = None
    review: str | None = None
    codes: npt.NDArray[np.int64] | None = None


def page_of(live: Live, filters: Filters, order: str, after: str, limit: int) -> tuple[dict[str, Any], list[int]]:
    """A page (rows, number of tasks that pass the filters, cursor of the next page) and the codes of its tasks."""
    columns = live.columns
    keep = _mask(live, columns, filters)
    codes = columns.sorted(order)
    values = columns.values(order)
    at = _place(columns, order, after)
    rows: list[int] = []
    while at < len(codes) and len(rows) <= limit:
        some = codes[at : at + STEP]
        rows += some[keep[some]].tolist()
        at += STEP
    summary = summary_of(live.baseline)
    shown = rows[:limit]
    cursor = f"{float(values[shown[-1]])!r}_{shown[-1]}" if len(rows) > limit else None
    table = [task_row(live, code, summary) | _measures(columns, code) for code in shown]
    return {"tasks": table, "total": int(np.count_nonzero(keep)), "next": cursor}, shown


def _measures(columns: TaskColumns, code: int) -> dict[str, Any]:
    value = float(columns.disagreement[code])
    return {"disagreement": None if np.isnan(value) else value, "flagged": bool(columns.flagged[code])}


def _place(columns: TaskColumns, order: str, after: str) -> int:
    if order not in ORDERS:
        raise Problem(422, f"order must be one of {', '.join(ORDERS)}, got {order[:40]!r}")
    if not after:
        return 0
    value, _, code = after.partition("_")
    try:
        return columns.after(order, float(value), int(code))
    except ValueError:
        raise Problem(422, f"after must be the `next` of an earlier page, got {after[:40]!r}") from None


def _mask(live: Live, columns: TaskColumns, filters: Filters) -> npt.NDArray[np.bool_]:
    n = len(columns)
    keep = np.ones(n, bool)
    if filters.codes is not None:
        keep[:] = False
        keep[filters.codes[filters.codes < n]] = True
    if filters.state is not None:
        if filters.state not in STATES:
            raise Problem(422, f"state must be one of {', '.join(STATES)}, got {filters.state[:40]!r}")
        keep &= live.session.task_index.reason[:n] == STATES.index(filters.state)
    if filters.label is not None:
        if filters.label not in live.config.classes:
            raise Problem(422, f"label must be a class of the project, got {filters.label[:40]!r}")
        keep &= columns.label == live.config.classes.index(filters.label)
    with np.errstate(invalid="ignore"):
        if filters.above is not None:
            keep &= columns.confidence >= filters.above
        if filters.below is not None:
            keep &= columns.confidence < filters.below
        if filters.disagreement is not None:
            keep &= columns.disagreement >= filters.disagreement
    if filters.flagged is not None:
        keep &= columns.flagged == filters.flagged
    if filters.review is not None:
        keep &= _by_review(live, columns, filters.review)
    return keep


def _by_review(live: Live, columns: TaskColumns, review: str) -> npt.NDArray[np.bool_]:
    """The tasks that wait for a review, were reviewed, were sent back, or were reported by a worker."""
    out = np.zeros(len(columns), bool)
    if review == "waiting":
        out |= columns.review
        out[[t for t in (*live.gold, *live.excluded) if t < len(out)]] = False
        return out
    tables: dict[str, Mapping[int, Any]] = {
        "done": live.reviews.decisions,
        "returned": live.reviews.returned,
        "reported": live.reviews.reports,
    }
    if review not in tables:
        raise Problem(422, f"review must be waiting, {', '.join(tables)}, got {review[:40]!r}")
    out[list(tables[review])] = True
    return out
