"""Taggers: what is read, written and said of a net that learnt from spans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import ways

if TYPE_CHECKING:
    import polars as pl

    from ...core.votes import Votes
    from ...kinds.spans.learn import CrowdTagger


def features(path: Path) -> dict[str, Any]:
    """X, a list of arrays, the tasks that these are of, and where the tokens stand."""
    from ...kinds.spans.learn import read_tokens

    return read_tokens(path)


summary = ways.summary_with_facts


def tell(fitted: CrowdTagger, votes: Votes[Any], output: Path) -> None:
    """The short summary for people."""
    ways.tell_of(fitted, votes, output, f"{votes.n_tasks:,} tasks", said="tags", new="tasks")


def predicted(fitted: CrowdTagger, given: dict[str, Any], said: Any, unknown: Any) -> pl.DataFrame:
    """One row a task: task, spans (JSON), confidence."""
    import numpy as np
    import polars as pl

    from ...core.errors import ParameterError
    from ...core.method_registry import learner

    if said is not None and "forecast" not in learner(fitted.chosen()).can:
        raise ParameterError(f"{fitted.chosen()} has no forecaster; leave --votes out")
    found = fitted.forecast(given["X"], said, tasks=given["tasks"], places=given["places"], unknown_workers=unknown)
    table = found.table(np.zeros(len(found), dtype=np.int64))
    return pl.DataFrame({"task": given["tasks"], "spans": table["spans"], "confidence": table["confidence"]})
