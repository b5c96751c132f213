"""Outcomes of pairs as decisions: left, right or tie, right where it is the known outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.comparisons.answers import Comparisons
from ...kinds.comparisons.estimate import ComparisonEstimate
from ...maths.trust.gold_calibration import GoldCalibration
from ..decisions.checked import Decided
from .gold import pair_gold

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("outcomes", "the known outcome of the pair", _outcomes, _right, _apply)


def _own(result: Result) -> ComparisonEstimate:
    assert isinstance(result.estimate, ComparisonEstimate)
    return result.estimate


def _outcomes(result: Result) -> tuple[I8, F8]:
    own = _own(result)
    task = np.arange(len(own))
    return task, own.chance[task, own.outcome]


def _right(votes: Votes[Comparisons], result: Result, gold: Any) -> F8:
    known = pair_gold(gold, votes)
    assert known is not None
    equal = (_own(result).outcome == known.outcome).astype(np.float64)
    return np.where(known.outcome >= 0, equal, np.nan)


def _apply(estimate: ComparisonEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> ComparisonEstimate:
    del parts
    return replace(estimate, chance=np.where(kept[:, None], estimate.chance, learnt.apply(estimate.chance)))
