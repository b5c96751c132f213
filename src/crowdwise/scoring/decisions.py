"""How far decisions can be trusted, for kinds whose answers are right or wrong: sets, spans, boxes, pairs, ..."""

from __future__ import annotations

import numpy as np

from ..aggregate.decisions.checked import Decided
from ..core.result import Result
from ..maths.trust.gold_calibration import GoldCalibration, shippable
from .trust import ERROR, ESTIMATE, UNKNOWN, Trust, surest


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
