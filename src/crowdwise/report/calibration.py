"""Is the confidence honest? The labels against known truth, where there is some that the fit has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from markupsafe import Markup

from ..aggregate.gold import as_gold
from ..core.result import Result
from ..kinds.classes.annotations import Annotations
from ..scoring.bins import bins
from ..scoring.evaluate import Evaluation, evaluate
from ..scoring.tasks import suspected_gold
from .charts import reliability
from .svg import NOTHING

F8 = npt.NDArray[np.float64]
# Resamples for the intervals of the scores.
RESAMPLES = 300
_UNKNOWN = (
    "The truth of no task is known. --truth FILE (or --gold FILE) with some true labels shows whether 90 % sure means "
    "right nine times in ten."
)
_GIVEN = "The known labels were given to the method, so they cannot judge it."


@dataclass(frozen=True)
class Calibration:
    """The scores, the diagram, the known labels that the crowd contradicts; or why there are none. `right[task]` says
    whether a judged label is right (NaN: it was not judged)."""

    scores: Evaluation | None = None
    right: F8 | None = None
    drawing: Markup = NOTHING
    suspects: pl.DataFrame | None = None
    reason: str = ""


def calibration(votes: Annotations, result: Result, truth: Any, blind: Result | None = None) -> Calibration:
    """`blind` is the same method fitted without the truth, where `result` was fitted with it."""
    gold = as_gold(truth, votes)
    if gold is None or not len(gold.known):
        return Calibration(reason=_UNKNOWN)
    judged = blind or result
    at = np.flatnonzero(gold.mask if judged.gold is None else gold.mask & ~judged.gold)
    if not len(at):
        return Calibration(reason=_GIVEN)
    true = gold.label[at]
    scores = evaluate(judged, truth, resamples=RESAMPLES)
    found = bins(judged.confidence[at], judged.labels[at] == true)
    label = f"Reliability: of {len(at):,} labels with known truth, how many are right at each level of confidence"
    right = np.full(votes.n_tasks, np.nan)
    right[at] = judged.labels[at] == true
    return Calibration(scores, right, reliability(found, label), suspected_gold(votes, judged, truth))
