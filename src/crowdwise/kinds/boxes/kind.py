"""The kind `boxes`: bounding boxes drawn on images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.kind import Kind
from ..hooks import PackageHooks
from .answers import NAMES, BoxCoder, accepts, detect_columns, explain_detection

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.result import Result
    from ...core.votes import Votes
    from ...report.sheet import Sheet
    from ...workers.flags import Flag
    from ...workers.studied import Studied


class BoxHooks(PackageHooks):
    """Hooks of boxes."""

    display_name = "boxes"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import BoxEstimate, BoxWorkers

        return BoxEstimate, BoxWorkers

    def plots(self, result: Result) -> Any:
        from ...plots.shapes import BoxPlots

        return BoxPlots(result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from .workers import worker_rows

        return worker_rows(result, limit)

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from .workers import study_boxes

        return self.call(study_boxes, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from .workers import flag_boxes

        return flag_boxes(votes, result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import box_page

        return self.call(box_page, votes, result, **options)


KIND = Kind(
    name="boxes",
    hooks=BoxHooks(),
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
