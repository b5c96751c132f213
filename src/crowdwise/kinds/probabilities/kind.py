"""The kind `probabilities`: how likely a worker thinks a task is true or will happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ...core.kind import Kind
from ..hooks import DecidedHooks
from ..numbers.answers import accepts
from .answers import NAMES, ProbabilityCoder, detect_columns, probability_votes

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerSummary


class ProbabilityHooks(DecidedHooks):
    """Hooks of probabilities."""

    display_name = "probabilities"
    score_name = "1 - absolute difference from the outcome"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import ProbabilityEstimate, ProbabilityWorkers

        return ProbabilityEstimate, ProbabilityWorkers


KIND = Kind(
    name="probabilities",
    hooks=ProbabilityHooks(),
    constructor=probability_votes,
    columns={"probability": NAMES},
    coder=ProbabilityCoder,
    default="pooled_probabilities",
    answers_word="probabilities",
    detect_columns=detect_columns,
    accepts=accepts,
    dtypes=(pl.Float64(), pl.Int64()),
)
