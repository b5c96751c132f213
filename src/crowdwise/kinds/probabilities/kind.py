"""The kind `probabilities`: how likely a worker thinks a task is true or will happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.kind import Kind
from ..hooks import PackageHooks
from ..numbers.answers import accepts
from .answers import NAMES, ProbabilityCoder, detect_columns

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.model import Model
    from ...core.result import Result
    from ...core.votes import Votes
    from ...workers.flags import Flag
    from ...workers.studied import Studied


class ProbabilityHooks(PackageHooks):
    """Hooks of probabilities."""

    display_name = "probabilities"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import ProbabilityEstimate, ProbabilityWorkers

        return ProbabilityEstimate, ProbabilityWorkers

    def model(self, result: Result) -> Model[Any] | None:
        from .fitting import model_of

        return model_of(result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from .workers import worker_rows

        return worker_rows(result, limit)

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from .workers import study_probabilities

        return self.call(study_probabilities, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from .workers import flag_probabilities

        return flag_probabilities(votes, result)


KIND = Kind(
    name="probabilities",
    hooks=ProbabilityHooks(),
    columns={"probability": NAMES},
    coder=ProbabilityCoder,
    default="pooled_probabilities",
    answers_word="probabilities",
    detect_columns=detect_columns,
    accepts=accepts,
    dtypes=(pl.Float64(), pl.Int64()),
)
