"""From what is believed of every token to spans, and what training on spans found as the Result of aggregation."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from ...aggregate.spans.chains import of_path
from ...aggregate.spans.found import estimate_of, picture_of
from ...aggregate.spans.work import layer
from ...core.errors import CrowdwiseWarning
from ...core.result import Result
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...kinds.spans.estimate import SpanEstimate
from ...maths.spans.chain import viterbi
from ...maths.spans.rows import F8, I8, nested, ranges, starts
from ...maths.spans.units import Units
from .sentences import Sentences

if TYPE_CHECKING:
    from .tagger import CrowdTagger


def tagging(log_proba: F8, units: Units) -> npt.NDArray[np.int64]:
    """The likeliest states of log_proba[token, state] that are a tagging."""
    k = log_proba.shape[1]
    return viterbi(units, log_proba, np.zeros(k), np.zeros((k, k)), k // 2)


def believed(log_proba: F8, units: Units, names: list[str]) -> SpanEstimate:
    """Spans with confidence of log_proba[token, state]."""
    judged = of_path(np.exp(log_proba), tagging(log_proba, units))
    return estimate_of(units, [judged], pl.Series("tag", names, dtype=pl.String), None)


def outcome(fitted: CrowdTagger, votes: Votes[Spans], sentences: Sentences, place: I8, log_proba: F8) -> Result:
    """The spans of the training's tasks by net and answers together (by the net alone where the method has no
    confusions), and the workers against them; place[task] is a task's row among the sentences."""
    count = np.diff(sentences.offsets)[place]
    pick = ranges(sentences.offsets[:-1][place], count)
    units = Units(starts(count), sentences.start[pick], sentences.end[pick])
    estimate = believed(log_proba[pick], units, fitted.names_)
    return Result(
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=estimate,
        picture=picture_of(votes, [layer(votes, units, None, None)], estimate),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        extra={"best_epoch": fitted.history_.best_epoch or len(fitted.history_)},
        **fitted._course(),
    )


def warn_of_nested(votes: Votes[Spans]) -> None:
    """Say where spans overlap: a token has one tag."""
    n = int(nested(votes.answers.rows).sum())
    if n:
        warnings.warn(
            f"in {n:,} of {len(votes):,} answers spans of different tags overlap; a token has one tag, so the later "
            "span has it",
            CrowdwiseWarning,
            stacklevel=3,
        )
