"""TaskColumns: what tasks are searched, sorted and sent to review by, as arrays over all tasks.

They are those of the last fit, so that they are computed once per fit and a page of a million tasks costs no more than
one of a thousand; before the first fit they are computed when an answer has come.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .baseline import confidence_of, summary_of

if TYPE_CHECKING:
    from .state import Live

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
# Orders of a page, and whether the largest value comes first.
ORDERS = {"given": False, "confidence": False, "answers": True, "disagreement": True}
# Tasks looked at together while a page is filled.
STEP = 4_096
# Largest number of cells of a table of tasks and classes.
CELLS = 20_000_000


@dataclass
class TaskColumns:
    """Columns of n tasks. `label` is the code of the class (-1: none, or not a class), `confidence` that of the
    estimate (NaN: unknown), `disagreement` the share of answers that differ from the commonest one (NaN: fewer than
    two)."""

    label: npt.NDArray[np.int16]
    confidence: Floats
    answers: npt.NDArray[np.int32]
    disagreement: Floats
    flagged: Bools
    review: Bools
    _orders: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.label)

    def values(self, order: str) -> Floats:
        """The value by which a page is sorted, smallest first."""
        if order == "given":
            return np.zeros(len(self), np.float32)
        value = np.asarray(getattr(self, order), dtype=np.float32)
        value = np.where(np.isnan(value), np.float32(-1), value) if ORDERS[order] else value
        return np.nan_to_num(-value if ORDERS[order] else value, nan=2.0)

    def sorted(self, order: str) -> npt.NDArray[np.int64]:
        """All tasks in an order."""
        if order not in self._orders:
            self._orders[order] = np.argsort(self.values(order), kind="stable")
        return self._orders[order]

    def after(self, order: str, value: float, code: int) -> int:
        """The place in an order behind a value and a task."""
        codes = self.sorted(order)
        values = self.values(order)[codes]
        first, last = np.searchsorted(values, np.float32(value)), np.searchsorted(values, np.float32(value), "right")
        return int(first + np.searchsorted(codes[first:last], code, "right"))

    @cached_property
    def queue(self) -> npt.NDArray[np.int64]:
        """The tasks that go to review, those first whose label a decision is most likely to change."""
        codes = np.flatnonzero(self.review)
        return codes[review_order(self.confidence[codes], self.disagreement[codes])]

    def n_queued(self, live: Live) -> int:
        """Number of tasks that wait for a review."""
        done = [t for t in {*live.gold, *live.excluded} if t < len(self) and self.review[t]]
        return int(self.review.sum()) - len(done)

    def waiting(self, live: Live, reviewer: str) -> Iterator[int]:
        """The tasks that wait for this reviewer: first those that another reviewer has begun, then the queue."""
        begun = [t for t in live.reviews.decisions if t not in live.gold and t not in live.excluded]
        begun.sort(key=lambda task: -len(live.reviews.decisions[task]))
        reported = [t for t in live.reviews.reports if t not in live.reviews.decisions]
        first = [*begun, *(t for t in reported if t not in live.gold and t not in live.excluded)]
        for task in first:
            if not live.reviews.reviewed_by(task, reviewer):
                yield task
        passed = {*live.gold, *live.excluded, *first, *live.reviews.returned}
        # A task of the check queue is labelled without the answers of others, or it would measure nothing.
        passed |= set(live.checks.queue)
        for task in self.queue.tolist():
            if task not in passed:
                yield task


def review_order(confidence: npt.NDArray[Any], disagreement: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The order of review: the probability that a decision changes the label, then the disagreement of the answers."""
    doubt = np.nan_to_num(1 - confidence, nan=0.0) + 1e-3 * np.nan_to_num(disagreement)
    return np.asarray(np.argsort(-doubt, kind="stable"))


def columns_of(live: Live) -> TaskColumns:
    """The columns of a project at this moment."""
    n, config, index = len(live.crowd.tasks), live.config, live.session.task_index
    lists = live.session.model.answer_lists
    answers = lists.n[:n].astype(np.int32)
    label = np.full(n, -1, np.int16)
    summary = summary_of(live.baseline)
    if config.sure:
        posterior = index.posterior[:n]
        fitted = None if live.baseline is None else live.baseline.get("posterior")
        if fitted is not None:
            posterior = posterior.copy()
            there = np.flatnonzero(~np.isnan(fitted).any(axis=1))
            posterior[there] = fitted[there]
        label[answers > 0] = posterior.argmax(axis=1)[answers > 0]
        confidence = np.where(answers > 0, posterior.max(axis=1, initial=0.0), np.nan).astype(np.float32)
    else:
        confidence = confidence_of(summary, live.crowd.tasks).astype(np.float32)
    disagreement, flagged = _of_answers(live, n, {int(code) for code in summary.get("flags", {})})
    closed = index.reason[:n] != 0
    sent = confidence < config.review_below
    if config.review_disagreement > 0:
        sent |= disagreement >= config.review_disagreement
    if config.review_flagged:
        sent |= flagged
    return TaskColumns(label, confidence, answers, disagreement, flagged, sent & closed & (answers > 0))


def _of_answers(live: Live, n: int, flagged: set[int]) -> tuple[Floats, Bools]:
    """The disagreement of each task, and whether a flagged worker answered it."""
    task, worker, label = live.session.model.answer_lists.rows()[:3]
    with_flag = np.zeros(n, bool)
    if flagged:
        with_flag[task[np.isin(worker, sorted(flagged))]] = True
    disagreement = np.full(n, np.nan, np.float32)
    if live.config.sure and len(task):
        k, most, total = live.config.n_classes, np.zeros(n, np.int64), np.bincount(task, minlength=n)
        for first in range(0, n, max(CELLS // k, 1)):  # a table of tasks and classes, some tasks at a time
            last = min(first + max(CELLS // k, 1), n)
            here = (task >= first) & (task < last)
            table = np.bincount((task[here] - first) * k + label[here], minlength=(last - first) * k)
            most[first:last] = table.reshape(-1, k).max(axis=1)
        several = total > 1
        disagreement[several] = 1 - most[several] / total[several]
    return disagreement, with_flag
