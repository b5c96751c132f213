"""Estimates of numbers against known values, where there are some that the fit has not seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from ...aggregate.numbers.gold import number_gold
from ...core.result import Result
from ...core.votes import Votes
from ...kinds.numbers.estimate import NumberEstimate
from ...kinds.numbers.votes import Numbers
from ...scoring.numbers.evaluate import SCORES, NumberEvaluation, evaluate
from ...workers.wording import amount, amounts, said
from ..text import shown
from .charts import scatter

F8 = npt.NDArray[np.float64]
# Resamples behind the intervals of the scores; tasks in the list of the largest errors.
RESAMPLES, ERRORS = 300, 15
_UNKNOWN = (
    "The truth of no task is known. --truth FILE (or --gold FILE) with some true values shows how far the estimates "
    "are off, and how often the intervals hold the truth."
)
_GIVEN = "The known values were given to the method, so they cannot judge it."


@dataclass(frozen=True)
class Judged:
    """Scores (part, name, value, 95 % interval), a plot for each part, the largest errors; or why there are none."""

    scores: NumberEvaluation | None = None
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    drawings: list[tuple[str, Markup]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""


def judged(votes: Votes[Numbers], result: Result, truth: Any, blind: Result | None = None) -> Judged:
    """`blind` is the same method fitted without the truth, where `result` was fitted with it."""
    known = number_gold(truth, votes)
    if known is None:
        return Judged(reason=_UNKNOWN)
    fair = blind or result
    if fair.gold is not None:
        known = np.where(fair.gold[:, None], np.nan, known)
    if not np.isfinite(known).any():
        return Judged(reason=_GIVEN)
    scores = evaluate(fair, truth, resamples=RESAMPLES)
    return Judged(scores, _rows(scores), _drawings(fair, known), _errors(votes, fair, known))


def _rows(scores: NumberEvaluation) -> list[tuple[str, str, str, str]]:
    out = []
    for part, found in scores.parts.items():
        for key, name in SCORES.items():
            if key in found and np.isfinite(found[key].value):
                one = found[key]
                ends = "" if np.isnan(one.low) else f"{one.low:.4g} to {one.high:.4g}"
                out.append((shown(f"{part}: {name}" if part else name, 60), key, f"{one.value:.4g}", ends))
    return out


def _drawings(result: Result, known: F8) -> list[tuple[str, Markup]]:
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    names = [str(task) for task in result.tasks.to_list()]
    out = []
    for j, part in enumerate(estimate.parts.to_list()):
        n = int(np.isfinite(known[:, j]).sum())
        about = f" of {shown(part, 30)}" if part else ""
        label = f"Estimates{about} against the truth of {n:,} tasks"
        drawn = scatter(known[:, j], estimate.value[:, j], estimate.low[:, j], estimate.high[:, j], names, label)
        out.append((shown(part, 40), drawn))
    return out


def _errors(votes: Votes[Numbers], result: Result, known: F8) -> list[dict[str, Any]]:
    """The tasks that are furthest off, beside the spread of the truths."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    gap = np.abs(estimate.value - known)
    unit = votes.answers.value.std(axis=0)
    score = np.nan_to_num(gap / np.where(unit > 0, unit, 1.0), nan=-1.0)
    task, part = np.unravel_index(np.argsort(-score, axis=None, kind="stable")[:ERRORS], score.shape)
    parts = estimate.parts.to_list()
    return [
        {
            "task": shown(result.tasks[int(t)]),
            "part": shown(parts[j], 40),
            "truth": said(float(known[t, j])),
            "value": amount(float(estimate.value[t, j]), float(unit[j])),
            "between": amounts(float(estimate.low[t, j]), float(estimate.high[t, j]), float(unit[j])),
            "inside": bool(estimate.low[t, j] <= known[t, j] <= estimate.high[t, j]),
            "n_labels": int(result.labels_per_task[t]),
        }
        for t, j in zip(task.tolist(), part.tolist(), strict=True)
        if score[t, j] >= 0
    ]
