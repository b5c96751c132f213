"""The closer of two items as a decision: right where it is the known one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.triplets.answers import Triplets
from ...kinds.triplets.estimate import TripletEstimate
from ...maths.trust.gold_calibration import GoldCalibration
from ..decisions.checked import Decided, two_sided
from .gold import known_sides

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("triplets", "with the known item closer", _sides, _right, _apply)


def _own(result: Result) -> TripletEstimate:
    assert isinstance(result.estimate, TripletEstimate)
    return result.estimate


def _sides(result: Result) -> tuple[I8, F8]:
    p = _own(result).left_closer
    return np.arange(len(p)), np.maximum(p, 1 - p)


def _right(votes: Votes[Triplets], result: Result, gold: Any) -> F8:
    own = _own(result)
    side = known_sides(gold, votes.tasks, (own.head, own.left, own.right), own.items)
    equal = ((own.left_closer > 0.5) == (side == 0)).astype(np.float64)
    return np.where(side >= 0, equal, np.nan)


def _apply(estimate: TripletEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> TripletEstimate:
    del parts
    return replace(estimate, left_closer=two_sided(estimate.left_closer, learnt, kept))
