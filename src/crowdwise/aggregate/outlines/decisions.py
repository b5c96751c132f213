"""Outlines as decisions: those of a picture are right where they overlap the known ones by half."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.outlines.answers import Outlines
from ...kinds.outlines.estimate import OutlineEstimate
from ...maths.outlines.masks import overlap
from ...maths.outlines.raster import fill_even_odd, grid
from ...maths.trust.gold_calibration import GoldCalibration
from ..decisions.checked import Decided
from .gold import known

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
# The least IoU with the known outlines, and the pixels that a picture is compared on.
OVERLAP, PIXELS = 0.5, 40_000


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("pictures", "with an IoU of .5 or more with the known outlines", _pictures, _right, _apply)


def _own(result: Result) -> OutlineEstimate:
    assert isinstance(result.estimate, OutlineEstimate)
    return result.estimate


def _pictures(result: Result) -> tuple[I8, F8]:
    own = _own(result)
    return np.arange(len(own)), np.nan_to_num(own.agreement, nan=0.5)


def _right(votes: Votes[Outlines], result: Result, gold: Any) -> F8:
    own, out = _own(result), np.full(votes.n_tasks, np.nan)
    task, theirs = known(votes, gold)
    for i, t in enumerate(task.tolist()):
        one, two = own.answers.of_row(t), theirs.of_row(i)
        x, y = grid([*one, *two], PIXELS)
        out[t] = overlap(fill_even_odd(one, x, y).ravel(), fill_even_odd(two, x, y).ravel()) >= OVERLAP
    return out


def _apply(estimate: OutlineEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> OutlineEstimate:
    """`agreement` is a measured overlap, no probability: it stays."""
    del learnt, kept, parts
    return estimate
