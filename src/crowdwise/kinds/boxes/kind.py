"""The kind `boxes`: bounding boxes drawn on images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.kind import Kind
from ..hooks import DecidedHooks
from .answers import NAMES, BoxCoder, accepts, box_votes, detect_columns, explain_detection

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.result import Result
    from ...core.votes import Votes
    from ...report.sheet import Sheet


class BoxHooks(DecidedHooks):
    """Hooks of boxes."""

    display_name = "boxes"
    score_name = "F1 of the boxes, weighted by their IoU"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import BoxEstimate, BoxWorkers

        return BoxEstimate, BoxWorkers

    def plots(self, result: Result) -> Any:
        from ...plots.shapes import BoxPlots

        return BoxPlots(result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import box_page

        return self.call(box_page, votes, result, **options)


KIND = Kind(
    name="boxes",
    hooks=BoxHooks(),
    constructor=box_votes,
    columns={"boxes": NAMES},
    coder=BoxCoder,
    default="box_clusters",
    answers_word="answers with boxes",
    detect_columns=detect_columns,
    accepts=accepts,
    explain_detection=explain_detection,
    dtypes=(pl.String(),),
    blank="[]",
)
