"""Verdicts of kinds whose answers have a score against gold: label sets, spans, boxes, texts, rankings, ...

The score of a task is 1 - the kind's distance between the estimate and the gold answer. Where there is no gold it is
predicted by the agreement of the task's answers with the estimate. Numbers have an absolute error instead.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from ...core.arrays import Mask
from ...core.errors import ParameterError
from .gold import GoldSample
from .verdicts import Verdicts

RIGHT, WRONG = "right", "wrong"


def right_or_wrong(
    gold: GoldSample, verdicts: Verdicts, min_score: float | None, within: float | None
) -> tuple[GoldSample, Verdicts]:
    """Return gold and verdicts of two classes: whether an estimate is right by a lowest score or a largest error.

    Every verdict says that the estimate is right.
    """
    assert gold.value is not None
    assert verdicts.value is not None
    if verdicts.score_of is None:
        good = _within(gold, verdicts, min_score, within)
    else:
        if within is not None:
            raise ParameterError("within (--within) is for numbers; give min_score (--min-score)")
        if min_score is None or not np.isfinite(min_score):
            raise ParameterError(
                f"what counts as right must be given: the lowest {verdicts.score_name} (--min-score X)"
            )
        good = gold.value >= min_score - 1e-9
    label = np.where(verdicts.has_verdict, 0, 2)
    sample = GoldSample(gold.task, (~good).astype(np.int64), None, gold.chance)
    classes = pl.Series("label", [RIGHT, WRONG])
    return sample, replace(verdicts, label=label, classes=classes, value=None)


def _within(gold: GoldSample, verdicts: Verdicts, min_score: float | None, within: float | None) -> Mask:
    assert gold.value is not None
    assert verdicts.value is not None
    if min_score is not None:
        raise ParameterError("min_score (--min-score) is for answers with a score; for numbers give within (--within)")
    if within is None or not (within >= 0 and np.isfinite(within)):
        raise ParameterError("numbers are not right or wrong; give the largest error that counts as right (--within X)")
    return np.asarray(np.abs(gold.value - verdicts.value[gold.task]) <= within * (1 + 1e-12))


def absolute_errors(gold: GoldSample, verdicts: Verdicts) -> tuple[GoldSample, Verdicts]:
    """Return gold and verdicts of the absolute error of numbers, which is predicted from their standard deviations."""
    assert gold.value is not None
    assert verdicts.value is not None
    error = np.abs(gold.value - verdicts.value[gold.task])
    # Mean absolute deviation of a normal distribution.
    predicted = np.sqrt(2 / np.pi) * (np.zeros(len(verdicts)) if verdicts.sd is None else verdicts.sd)
    return replace(gold, value=error), replace(verdicts, value=predicted)


def meaning(verdicts: Verdicts, min_score: float | None, within: float | None) -> str:
    """Return what counts as wrong, as a sentence for the guarantee."""
    if verdicts.score_of is None:
        return f"A number is wrong if it is off by more than {within:g}." if within is not None else ""
    return (
        f"An answer is wrong if its score ({verdicts.score_name}) is below {min_score:g}."
        if min_score is not None
        else ""
    )
