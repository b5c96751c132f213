"""The kind `spans`: marked parts of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.kind import Kind
from ..hooks import StudiedByDistanceHooks
from .answers import NAMES, SpanCoder, detect_columns, explain_detection, span_votes

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.result import Result
    from ...core.votes import Votes
    from ...report.sheet import Sheet


class SpanHooks(StudiedByDistanceHooks):
    """Hooks of spans."""

    display_name = "spans of a text"
    score_name = "F1 of the marked text"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import SpanEstimate, SpanWorkers

        return SpanEstimate, SpanWorkers

    def plots(self, result: Result) -> Any:
        from ...plots.shapes import SpanPlots

        return SpanPlots(result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from ...workers.tables import span_rows

        return span_rows(result, limit)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import span_page

        return self.call(span_page, votes, result, **options)


KIND = Kind(
    name="spans",
    hooks=SpanHooks(),
    constructor=span_votes,
    columns={"spans": NAMES},
    coder=SpanCoder,
    default="span_combined",
    answers_word="lists of spans",
    detect_columns=detect_columns,
    explain_detection=explain_detection,
    dtypes=(pl.String(),),
    blank="[]",
    along=("text",),
)
