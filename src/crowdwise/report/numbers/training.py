"""How a net was trained on numbers, and where it stands beside the crowd."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.numbers.estimate import NumberEstimate
from ...kinds.numbers.votes import Numbers
from ..over_time import Training, course_of


def trained_on(votes: Votes[Numbers], result: Result, history: pl.DataFrame | None) -> Training | None:
    """For a result of training end to end; None for an aggregation."""
    if "net" not in result.extra:
        return None
    found = course_of(result, history)
    alone, heard = np.asarray(result.extra["net"]), votes.labels_per_task > 0
    estimate, sentences = result.estimate, []
    assert isinstance(estimate, NumberEstimate)
    for j, part in enumerate(votes.answers.parts):
        total = np.bincount(votes.task, weights=votes.answers.value[:, j], minlength=votes.n_tasks)
        said, together = total[heard] / votes.labels_per_task[heard], estimate.value[heard, j]
        r = [_correlation(alone[heard, j], other) for other in (together, said)]
        of = f" of {part}" if part else ""
        sentences.append(
            f"From the features alone the net's numbers{of} go with those from features and answers together "
            f"(correlation {r[0]:.2f}), and with the plain means of the crowd (correlation {r[1]:.2f})."
        )
    return replace(found, sentences=sentences + found.sentences)


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    if len(one) < 2 or np.std(one) == 0 or np.std(other) == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
