"""From what is believed of every unit to spans with confidence, and the workers' picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...kinds.spans.estimate import SpanEstimate, SpanWorkers
from ...maths.spans.rows import F8, I8, ranges, shared, summed, totals
from ...maths.spans.units import Units, covered
from ...maths.spans.vote import own_and_others, runs, worker_f1
from .work import Known, Work


@dataclass(frozen=True, eq=False)
class Judged:
    """marginal[unit, tag], the tag that each unit gets (0 outside, 1 + tag), and where a span begins though the unit
    before has the same tag."""

    marginal: F8
    tag: I8
    breaks: npt.NDArray[np.bool_]


def estimate_of(units: Units, judged: Sequence[Judged], tags: pl.Series, known: Known | None) -> SpanEstimate:
    """Spans of all layers together; where the truth is known, it."""
    n_tasks = len(units.offsets) - 1
    marginal = judged[0].marginal if len(judged) == 1 else np.concatenate([each.marginal for each in judged], axis=1)
    parts = []
    for i, each in enumerate(judged):
        first, after, tag = runs(each.tag, each.breaks, units)
        parts.append((units.task[first], first, after, tag - 1 if len(judged) == 1 else np.full(len(first), i)))
    task, first, after, tag = (np.concatenate(each) for each in zip(*parts, strict=True))
    sure = _mean_of(marginal, units, first, after, tag)
    start, end = units.start[first], units.end[after - 1]
    if known is not None:
        keep = ~known.mask[task]
        row = known.rows.row
        task, start, end, tag, sure = (
            np.concatenate([a[keep], b])
            for a, b in ((task, row), (start, known.rows.start), (end, known.rows.end), (tag, known.rows.tag),
                         (sure, np.ones(len(row))))
        )  # fmt: skip
        marginal = _with_known(marginal, units, known)
    order = np.lexsort((tag, end, start, task))
    return SpanEstimate(
        n_spans=np.bincount(task, minlength=n_tasks).astype(np.int64),
        start=start[order].astype(np.int64),
        end=end[order].astype(np.int64),
        tag=tag[order].astype(np.int64),
        sure=np.clip(sure[order], 0.0, 1.0),
        n_units=np.diff(units.offsets),
        unit_start=units.start.copy(),
        unit_end=units.end.copy(),
        marginal=np.clip(marginal, 0.0, 1.0),
        tags=tags.rename("tag"),
    )


def _mean_of(marginal: F8, units: Units, first: I8, after: I8, tag: I8) -> F8:
    """The mean of marginal[., tag] over the units first .. after, by their lengths."""
    length = np.maximum(units.length, 1).astype(np.float64)
    size = np.concatenate([[0.0], np.cumsum(length)])
    out = np.zeros(len(first))
    for t in np.unique(tag):
        some = tag == t
        mass = np.concatenate([[0.0], np.cumsum(length * marginal[:, t])])
        out[some] = (mass[after[some]] - mass[first[some]]) / (size[after[some]] - size[first[some]])
    return out


def _with_known(marginal: F8, units: Units, known: Known) -> F8:
    out = marginal.copy()
    out[known.mask[units.task]] = 0.0
    first, last = covered(known.rows, np.arange(len(units.offsets) - 1), units)
    for t in np.unique(known.rows.tag):
        some = known.rows.tag == t
        out[ranges(first[some], (last - first)[some]), t] = 1.0
    return out


def picture_of(votes: Votes[Spans], works: Sequence[Work], estimate: SpanEstimate) -> SpanWorkers:
    """How each worker goes with the others, and with what was found."""
    m = votes.n_workers
    parts = [own_and_others(w.cells, w.weight, w.units, w.n_tags, w.known) for w in works]
    both, own, others = (np.sum(each, axis=0) for each in zip(*parts, strict=True))
    f1 = worker_f1(both, own, others, votes.worker, m)
    heard = votes.labels_per_worker > 0
    true = estimate.rows.take(votes.task.astype(np.int64))
    hit, said, there = (
        summed(votes.worker, each, m)
        for each in (shared(votes.answers.rows, true), totals(votes.answers.rows), totals(true))
    )
    return SpanWorkers(
        f1=np.where(heard, f1, np.nan),
        precision=_over(hit, said),
        recall=_over(hit, there),
        weight=np.where(heard, f1**2, 0.0),
    )


def _over(a: F8, b: F8) -> F8:
    return np.asarray(np.divide(a, b, out=np.full(len(a), np.nan), where=b > 0).clip(0.0, 1.0))
