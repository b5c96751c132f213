"""The report page for outlines."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import evaluate
from ...report.page import truth_section
from ...report.sheet import Sheet
from ..boxes.page import DrawnShape, page_with_images
from .answers import Outlines
from .estimate import OutlineEstimate


def outline_page(votes: Votes[Outlines], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """Return the standard sections, the most disputed images and, if the truth is given, the scores."""
    estimate = result.estimate
    assert isinstance(estimate, OutlineEstimate)
    order = np.argsort(np.nan_to_num(estimate.agreement, nan=2.0), kind="stable")
    sheet = page_with_images(votes, result, order, partial(_drawn_outlines, votes, estimate))
    return sheet if truth is None else sheet.append(truth_section(evaluate(blind or result, truth, resamples=1)))


def _drawn_outlines(votes: Votes[Outlines], estimate: OutlineEstimate, task: int) -> tuple[list[DrawnShape], str]:
    """Return all outlines that were drawn on an image, its estimated outlines, and a caption."""
    first, after = int(votes.task_offsets[task]), int(votes.task_offsets[task + 1])
    drawn = [DrawnShape(points, "drawn") for row in range(first, after) for points in votes.answers.of_row(row)]
    fused = [DrawnShape(points, "fused") for points in estimate.answers.of_row(task)]
    return [*drawn, *fused], f"{after - first} answers, mean IoU {estimate.agreement[task]:.2f}"
