"""Spans as decisions: one is right where a known span has its ends and its tag."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.result import Result
from ...core.truth import place_gold
from ...core.vocabulary import union
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...kinds.spans.estimate import SpanEstimate
from ...maths.spans.rows import crossed, ranges
from ...maths.trust.gold_calibration import GoldCalibration
from ..decisions.checked import Decided
from .gold import span_truth

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("spans", "with the ends and the tag of a known span", _spans, _right, _apply)


def _own(result: Result) -> SpanEstimate:
    assert isinstance(result.estimate, SpanEstimate)
    return result.estimate


def _spans(result: Result) -> tuple[I8, F8]:
    own = _own(result)
    return np.repeat(np.arange(len(own)), own.n_spans), own.sure


def _right(votes: Votes[Spans], result: Result, gold: Any) -> F8:
    own = _own(result)
    names, true = span_truth(gold)
    at, placed = place_gold(pl.DataFrame({"task": names}), votes.tasks)
    rows = np.flatnonzero(placed)
    task = at[rows].astype(np.int64)
    tags = union(own.tags.cast(pl.String), true.tags.cast(pl.String))
    mine = Spans(own.rows, own.tags.cast(pl.String)).with_tags(tags).rows.take(task)
    theirs = true.with_tags(tags).rows.take(rows)
    _, a, b, _ = crossed(mine, theirs)
    equal = (mine.start[a] == theirs.start[b]) & (mine.end[a] == theirs.end[b])
    hit = np.zeros(len(mine.start))
    hit[a[equal]] = 1.0
    out = np.full(len(own.start), np.nan)
    out[ranges(own.rows.offsets[:-1][task], own.n_spans[task])] = hit
    return out


def _apply(estimate: SpanEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> SpanEstimate:
    del parts
    task = np.repeat(np.arange(len(estimate)), estimate.n_spans)
    return replace(estimate, sure=np.where(kept[task], estimate.sure, learnt.of(estimate.sure)))
