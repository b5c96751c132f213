"""Estimated spans of each text, and the agreement of each worker with the others."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8, I8
from ...core.errors import DataError
from ...core.estimate import Axes, Estimate, WorkerSummary
from ...stats.ragged import starts
from .answers import as_json
from .maths import SpanRows


@dataclass(frozen=True, eq=False)
class SpanEstimate(Estimate):
    """Estimated spans, one task after the other, and the probability of each tag in each piece of the text.

    Args:
        n_spans: n_spans[task], the number of spans of each task.
        start: start[span], the first position of each span.
        end: end[span], the position after the last one.
        tag: tag[span], as a code into `tags`.
        sure: sure[span], the mean probability of the tag over the positions of the span.
        n_units: n_units[task], the number of pieces into which each text is cut.
        unit_start: unit_start[unit], the first position of each piece.
        unit_end: unit_end[unit], the position after the last one.
        marginal: marginal[unit, tag], the probability of each tag.
        tags: Names of the tags.
    """

    kind: ClassVar[str] = "spans"
    vocabulary: ClassVar[str | None] = "tags"
    without_labels: ClassVar[str] = "empty list of spans"

    n_spans: Annotated[I8, Axes("n", "amounts")]
    start: Annotated[I8, Axes("*", "amounts")]
    end: Annotated[I8, Axes("*", "amounts")]
    tag: Annotated[I8, Axes("*", "amounts")]
    sure: Annotated[F8, Axes("*", "skills")]
    n_units: Annotated[I8, Axes("n", "amounts")]
    unit_start: Annotated[I8, Axes("*", "amounts")]
    unit_end: Annotated[I8, Axes("*", "amounts")]
    marginal: Annotated[F8, Axes("*k", "skills")]
    tags: pl.Series

    def __post_init__(self) -> None:
        spans, units = int(self.n_spans.sum()), int(self.n_units.sum())
        sizes = {len(self.start), len(self.end), len(self.tag), len(self.sure)}
        if sizes != {spans} or {len(self.unit_start), len(self.unit_end), len(self.marginal)} != {units}:
            raise DataError("the saved result is damaged (the numbers of spans and pieces do not match)")
        if spans and (int(self.tag.max()) >= len(self.tags) or bool((self.start >= self.end).any())):
            raise DataError("the saved result is damaged (a span is empty or has an unknown tag)")

    @property
    def rows(self) -> SpanRows:
        """The spans, one row per task."""
        return SpanRows(starts(self.n_spans), self.start, self.end, self.tag)

    @property
    def spans(self) -> list[list[tuple[int, int, str]]]:
        """(start, end, tag) of each span of each task."""
        names, at = self.tags.cast(pl.String).to_list(), starts(self.n_spans).tolist()
        flat = [
            (s, e, names[t]) for s, e, t in zip(self.start.tolist(), self.end.tolist(), self.tag.tolist(), strict=True)
        ]
        return [flat[lo:hi] for lo, hi in itertools.pairwise(at)]

    @property
    def confidence(self) -> F8:
        """Mean probability of the estimated tag over the pieces that any worker marked; 1 if no worker marked any."""
        task = np.repeat(np.arange(len(self)), self.n_units)
        inside = np.minimum(self.marginal.sum(axis=1), 1.0)
        sure = np.maximum(self.marginal.max(axis=1, initial=0.0), 1 - inside)
        length = (self.unit_end - self.unit_start) * (inside > 1e-9)
        size = np.bincount(task, weights=length, minlength=len(self))
        mass = np.bincount(task, weights=length * sure, minlength=len(self))
        return np.clip(np.divide(mass, size, out=np.ones(len(self)), where=size > 0), 0.0, 1.0)

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Return spans (JSON), confidence and n_labels."""
        texts = pl.Series("spans", as_json(self.rows, self.tags.cast(pl.String)), dtype=pl.String)
        return {"spans": texts, "confidence": self.confidence, "n_labels": n_labels}

    def facts(self) -> dict[str, Any]:
        """Return the number of spans, in total and per tag."""
        count = np.bincount(self.tag, minlength=len(self.tags)).tolist()
        return {"spans": len(self.start), "tags": dict(zip(self.tags.cast(pl.String).to_list(), count, strict=True))}

    def size(self) -> str:
        """Return the number of tags, if spans have tags."""
        return "" if self.tags.to_list() == [""] else f", {len(self.tags):,} tags"

    def summary(self) -> str:
        """Return the number of spans and their mean confidence."""
        n = len(self.start)
        return f"{n:,} spans" + (f", mean confidence {float(np.nanmean(self.sure)):.3f}" if n else "")


@dataclass(frozen=True, eq=False)
class SpanWorkers(WorkerSummary):
    """Agreement of each worker with the others.

    Args:
        f1: F1 against the vote of the others.
        precision: Precision against the estimate; NaN if the worker marked nothing.
        recall: Recall against the estimate; NaN if there was nothing to mark.
        weight: Weight of the worker in the vote.
    """

    f1: Annotated[F8, Axes("m", "skills")]
    precision: Annotated[F8, Axes("m", "skills")]
    recall: Annotated[F8, Axes("m", "skills")]
    weight: Annotated[F8, Axes("m", "amounts")]
