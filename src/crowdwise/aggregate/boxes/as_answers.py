"""Estimates and known boxes as answers, for what is measured between answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.result import Result
from ...core.truth import place_gold
from ...core.votes import Votes
from ...kinds.boxes.answers import Boxes
from ...kinds.boxes.estimate import BoxEstimate
from .gold import box_truth


def said(votes: Votes[Boxes], result: Result) -> Boxes:  # noqa: ARG001
    """The fused boxes of every picture."""
    own = result.estimate
    assert isinstance(own, BoxEstimate)
    return Boxes(own.n_boxes, own.corner, own.tag, own.tags)


def known(votes: Votes[Boxes], gold: Any) -> tuple[npt.NDArray[np.int64], Boxes]:
    """Codes of the known pictures, and their boxes."""
    names, boxes = box_truth(gold)
    task, there = place_gold(names.to_frame("task"), votes.tasks)
    rows = np.flatnonzero(there)
    return task[rows].astype(np.int64), boxes.take(rows)
