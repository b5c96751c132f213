"""The kind `outlines`: polygons drawn on images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.kind import Kind
from ..hooks import StudiedByDistanceHooks
from .answers import NAMES, OutlineCoder, accepts, detect_columns, explain_detection, outline_votes

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.result import Result
    from ...core.votes import Votes
    from ...report.sheet import Sheet


class OutlineHooks(StudiedByDistanceHooks):
    """Hooks of outlines."""

    display_name = "outlines"
    score_name = "IoU"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import OutlineEstimate, OutlineWorkers

        return OutlineEstimate, OutlineWorkers

    def plots(self, result: Result) -> Any:
        from ...plots.shapes import OutlinePlots

        return OutlinePlots(result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from .scoring import worker_rows

        return worker_rows(result, limit)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import outline_page

        return self.call(outline_page, votes, result, **options)


KIND = Kind(
    name="outlines",
    hooks=OutlineHooks(),
    constructor=outline_votes,
    columns={"outlines": NAMES},
    coder=OutlineCoder,
    default="outline_vote",
    answers_word="answers with outlines",
    detect_columns=detect_columns,
    accepts=accepts,
    explain_detection=explain_detection,
    dtypes=(pl.String(),),
    blank="[]",
)
