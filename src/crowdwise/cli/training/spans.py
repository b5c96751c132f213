"""Taggers on the command line: features, summaries and predictions of a net trained on spans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import trainers

if TYPE_CHECKING:
    import polars as pl

    from ...core.votes import Votes
    from ...kinds.spans.learn import CrowdTagger


def read_features(path: Path) -> dict[str, Any]:
    """Read X (a list of arrays), their tasks, and the positions of the tokens."""
    from ...kinds.spans.learn import read_tokens

    return read_tokens(path)


summary = trainers.summary_with_facts


def print_summary(fitted: CrowdTagger, votes: Votes[Any], output: Path) -> None:
    """Print a short summary on stderr."""
    trainers.print_training(fitted, votes, output, f"{votes.n_tasks:,} tasks", held_out="tags", predictable="tasks")


def predict_table(fitted: CrowdTagger, inputs: dict[str, Any], votes: Any, unknown: Any) -> pl.DataFrame:
    """Return one row per task: task, spans (JSON), confidence."""
    import numpy as np
    import polars as pl

    from ...core.errors import ParameterError
    from ...core.method_registry import learner

    if votes is not None and "forecast" not in learner(fitted.method_name()).can:
        raise ParameterError(f"{fitted.method_name()} has no forecaster; leave --votes out")
    forecast = fitted.forecast(
        inputs["X"], votes, tasks=inputs["tasks"], places=inputs["places"], unknown_workers=unknown
    )
    table = forecast.table(np.zeros(len(forecast), dtype=np.int64))
    return pl.DataFrame({"task": inputs["tasks"], "spans": table["spans"], "confidence": table["confidence"]})
