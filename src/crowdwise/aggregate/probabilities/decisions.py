"""Likely or not as a decision: right where the known outcome is on the same side of one half."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.probabilities.estimate import ProbabilityEstimate
from ...kinds.probabilities.votes import Probabilities
from ...maths.trust.gold_calibration import GoldCalibration
from ..decisions.checked import Decided, two_sided
from .base import probability_gold

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("likelier outcomes", "what happened", _outcomes, _right, _apply, probable=True)


def _own(result: Result) -> ProbabilityEstimate:
    assert isinstance(result.estimate, ProbabilityEstimate)
    return result.estimate


def _outcomes(result: Result) -> tuple[I8, F8]:
    p = _own(result).probability
    return np.arange(len(p)), np.maximum(p, 1 - p)


def _right(votes: Votes[Probabilities], result: Result, gold: Any) -> F8:
    outcome, p = probability_gold(gold, votes), _own(result).probability
    assert outcome is not None
    hit = np.where(np.abs(p - 0.5) < 1e-12, 0.5, ((p > 0.5) == (outcome > 0.5)).astype(np.float64))
    return np.where(np.isnan(outcome), np.nan, hit)


def _apply(estimate: ProbabilityEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> ProbabilityEstimate:
    del parts
    return replace(estimate, probability=two_sided(estimate.probability, learnt, kept))
