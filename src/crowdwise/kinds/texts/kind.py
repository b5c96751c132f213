"""The kind `texts`: free text such as transcripts, translations and captions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.kind import Kind
from ..hooks import StudiedByDistanceHooks
from .answers import LAST, NAMES, TextCoder, detect_columns, text_votes

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.result import Result
    from ...core.votes import Votes
    from ...report.sheet import Sheet


class TextHooks(StudiedByDistanceHooks):
    """Hooks of free texts."""

    display_name = "free texts"
    score_name = "1 - word error rate"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import TextEstimate, TextWorkers

        return TextEstimate, TextWorkers

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from .scoring import worker_rows

        return worker_rows(result, limit)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import text_page

        return self.call(text_page, votes, result, **options)


KIND = Kind(
    name="texts",
    hooks=TextHooks(),
    constructor=text_votes,
    columns={"output": f"{NAMES} {LAST}"},
    coder=TextCoder,
    default="text_combined",
    answers_word="texts",
    detect_columns=detect_columns,
    dtypes=(pl.String(),),
)
