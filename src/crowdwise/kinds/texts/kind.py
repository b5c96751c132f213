"""The kind `texts`: free text such as transcripts, translations and captions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.kind import Kind
from ..hooks import PackageHooks
from .answers import LAST, NAMES, TextCoder, detect_columns

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.model import Model
    from ...core.result import Result
    from ...core.votes import Votes
    from ...report.sheet import Sheet
    from ...workers.flags import Flag
    from ...workers.studied import Studied


class TextHooks(PackageHooks):
    """Hooks of free texts."""

    display_name = "free texts"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import TextEstimate, TextWorkers

        return TextEstimate, TextWorkers

    def model(self, result: Result) -> Model[Any] | None:
        from .fitting import model_of

        return model_of(result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from .scoring import worker_rows

        return worker_rows(result, limit)

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from ...workers.distance_based import study_by_distance

        return self.call(study_by_distance, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from ...workers.distance_based import flags_by_distance

        return flags_by_distance(votes, result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import text_page

        return self.call(text_page, votes, result, **options)


KIND = Kind(
    name="texts",
    hooks=TextHooks(),
    columns={"output": f"{NAMES} {LAST}"},
    coder=TextCoder,
    default="text_combined",
    answers_word="texts",
    detect_columns=detect_columns,
    dtypes=(pl.String(),),
)
