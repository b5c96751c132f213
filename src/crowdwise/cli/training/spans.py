"""Taggers: what is read, written and said of a net that learnt from spans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..terminal import print_table, say
from . import ways

if TYPE_CHECKING:
    import polars as pl

    from ...core.votes import Votes
    from ...learn.spans.tagger import CrowdTagger


def features(path: Path) -> dict[str, Any]:
    """X, a list of arrays, the tasks that these are of, and where the tokens stand."""
    from ...learn.spans.files import read_tokens

    return read_tokens(path)


def summary(fitted: CrowdTagger, votes: Votes[Any], output: Path) -> dict[str, Any]:
    """What --json prints."""
    return {**ways.summary(fitted, votes, output), **fitted.result_.estimate.facts()}


def tell(fitted: CrowdTagger, votes: Votes[Any], output: Path) -> None:
    """The short summary for people."""
    result = fitted.result_
    say(
        f"{len(votes):,} {result.kind.answers_word} of {votes.n_tasks:,} tasks by {votes.n_workers:,} workers, "
        f"{ways.with_shape(fitted)}"
    )
    say(ways.went(fitted, "tags"))
    say(result.estimate.summary())
    print_table("Workers, best and worst", *result.kind.door("worker_rows")(result))
    say(f"written to {output}; new tasks: crowdwise predict {output} FEATURES")


def predicted(fitted: CrowdTagger, given: dict[str, Any], said: Any, unknown: Any) -> pl.DataFrame:
    """One row a task: task, spans (JSON), confidence."""
    import numpy as np
    import polars as pl

    from ...aggregate.registry import learner
    from ...core.errors import ParameterError

    if said is not None and "forecast" not in learner(fitted.chosen()).can:
        raise ParameterError(f"{fitted.chosen()} has no forecaster; leave --votes out")
    found = fitted.forecast(given["X"], said, tasks=given["tasks"], places=given["places"], unknown_workers=unknown)
    table = found.table(np.zeros(len(found), dtype=np.int64))
    return pl.DataFrame({"task": given["tasks"], "spans": table["spans"], "confidence": table["confidence"]})
