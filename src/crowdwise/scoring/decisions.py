"""How far decisions can be trusted, for kinds whose answers are right or wrong: sets, spans, boxes, pairs, ..."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..aggregate.decisions.checked import Decided
from ..core.result import Result
from ..maths.trust.gold_calibration import GoldCalibration, shippable
from .trust import ERROR, ESTIMATE, UNKNOWN, Trust, surest

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """The decisions of each task, in their order: their confidence, and whether they can ship (None: nobody knows).
    `single`: every task has one decision, about its whole answer."""

    confidence: list[list[float]]
    ships: list[list[bool | None]]
    single: bool


def by_task(result: Result, level: Trust) -> Judged:
    """The decisions of `result` and of its statement `level`, task by task."""
    decided: Decided = result.kind.door("decisions")()
    task, confidence = decided.of(result)
    known = level.ships.astype(object)
    if not level.counted:
        known[~level.ships] = None
    ends = np.searchsorted(task, np.arange(1, result.n_tasks))
    single = np.array_equal(task, np.arange(result.n_tasks))
    sure, ships = (np.split(each, ends) for each in (confidence, known))
    return Judged([each.tolist() for each in sure], [each.tolist() for each in ships], single)


def task_confidence(result: Result) -> F8:
    """How sure each task's only decision is, NaN where that is not measured or no task has answers. Of checked tasks it
    is what the fit without their gold claims, calibrated, so that they are treated like the others."""
    decided: Decided = result.kind.door("decisions")()
    task, sure = decided.of(result)
    out = np.full(result.n_tasks, np.nan)
    check = result.extra.get("gold_check") or {}
    if "slope" not in check or not np.array_equal(task, np.arange(result.n_tasks)):
        return out
    learnt = GoldCalibration(check["slope"], check["shift"], check["centre"])
    answered = np.asarray(result.labels_per_task) > 0
    out[answered] = sure[answered]
    out[result.extra["checked_task"]] = learnt.of(np.asarray(result.extra["checked_confidence"]))
    return out


def trust(result: Result, error: float = ERROR) -> Trust:
    """The statement of `scoring.trust` with decisions in the place of labels. What ships is always an estimate: accept
    promises for labels only."""
    decided: Decided = result.kind.door("decisions")()
    task, _ = decided.of(result)
    check = result.extra.get("gold_check") or {}
    reason = str(check.get("reason", ""))
    gold = np.zeros(result.n_tasks, dtype=bool) if result.gold is None else np.asarray(result.gold)
    answered = np.asarray(result.labels_per_task) > 0
    others, given = (answered & ~gold)[task], gold[task]
    words = (decided.words, decided.meaning)
    if not check or reason:
        return Trust(result.n_tasks, 0, None, given, UNKNOWN, error, reason, *words)
    raw, sure, right = (
        np.asarray(result.extra[name]) for name in ("decision_confidence", "checked_confidence", "checked_right")
    )
    learnt = GoldCalibration(check["slope"], check["shift"], check["centre"])
    count = shippable(raw[others], sure, right, learnt, error, float(check["weight"]), realised=True)
    ships = given | surest(raw, others, count)
    return Trust(result.n_tasks, int(check["n"]), result.expected_accuracy, ships, ESTIMATE, error, "", *words)
