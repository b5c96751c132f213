"""Boxes as decisions: one is right where a known box of its class, matched one-to-one, overlaps it by half."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.boxes.answers import Boxes
from ...kinds.boxes.estimate import BoxEstimate
from ...maths.boxes.matching import match_lists
from ...maths.spans.rows import ranges
from ...maths.trust.gold_calibration import GoldCalibration
from ..decisions.checked import Decided
from .as_answers import known, said

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
# The least IoU with a known box.
OVERLAP = 0.5


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("boxes", "with an IoU of .5 or more with a known box of their class", _boxes, _right, _apply)


def _own(result: Result) -> BoxEstimate:
    assert isinstance(result.estimate, BoxEstimate)
    return result.estimate


def _boxes(result: Result) -> tuple[I8, F8]:
    own = _own(result)
    return np.repeat(np.arange(len(own)), own.n_boxes), own.support


def _right(votes: Votes[Boxes], result: Result, gold: Any) -> F8:
    own = _own(result)
    task, theirs = known(votes, gold)
    mine = said(votes, result).take(task)
    bare = [each.tags.to_list() == [""] for each in (mine, theirs)]
    if bare[0] == bare[1]:
        both, n = mine.join(theirs), len(mine)
        mine, theirs = both.take(np.arange(n)), both.take(np.arange(n, len(both)))
        tags = mine.tag, theirs.tag
    else:  # where one side has no classes, they do not count
        tags = np.zeros_like(mine.tag), np.zeros_like(theirs.tag)
    _, hit, _, _ = match_lists(
        mine.corner, theirs.corner, mine.start[:-1], mine.size, theirs.start[:-1], theirs.size,
        tag_a=tags[0], tag_b=tags[1], least=OVERLAP,
    )  # fmt: skip
    right = np.zeros(len(mine.corner))
    right[hit] = 1.0
    out = np.full(len(own.corner), np.nan)
    out[ranges(own.start[:-1][task], own.n_boxes[task])] = right
    return out


def _apply(estimate: BoxEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> BoxEstimate:
    del parts
    task = np.repeat(np.arange(len(estimate)), estimate.n_boxes)
    return replace(estimate, sure=np.where(kept[task], 1.0, learnt.of(estimate.support)))
