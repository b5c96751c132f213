"""Estimated spans of each text, and the agreement of each worker with the others."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.estimate import Arrays, Estimate, Rules, WorkerSummary
from ...stats.ragged import starts
from .answers import as_json
from .maths import SpanRows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


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
    rules: ClassVar[Rules] = {
        "n_spans": ("n", "i", "amounts"),
        "start": ("*", "i", "amounts"),
        "end": ("*", "i", "amounts"),
        "tag": ("*", "i", "amounts"),
        "sure": ("*", "f", "skills"),
        "n_units": ("n", "i", "amounts"),
        "unit_start": ("*", "i", "amounts"),
        "unit_end": ("*", "i", "amounts"),
        "marginal": ("*k", "f", "skills"),
    }
    needed: ClassVar[tuple[str, ...]] = tuple(rules)
    vocabulary: ClassVar[str | None] = "tags"
    without_labels: ClassVar[str] = "empty list of spans"

    n_spans: I8
    start: I8
    end: I8
    tag: I8
    sure: F8
    n_units: I8
    unit_start: I8
    unit_end: I8
    marginal: F8
    tags: pl.Series

    def __post_init__(self) -> None:
        spans, units = int(self.n_spans.sum()), int(self.n_units.sum())
        sizes = {len(self.start), len(self.end), len(self.tag), len(self.sure)}
        if sizes != {spans} or {len(self.unit_start), len(self.unit_end), len(self.marginal)} != {units}:
            raise DataError("the saved result is damaged (the numbers of spans and pieces do not match)")
        if spans and (int(self.tag.max()) >= len(self.tags) or bool((self.start >= self.end).any())):
            raise DataError("the saved result is damaged (a span is empty or has an unknown tag)")

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> SpanEstimate:  # noqa: ARG003
        """Return the estimate from the arrays of a run folder."""
        assert names is not None
        return cls(**{name: arrays[name] for name in cls.rules}, tags=names)

    def __len__(self) -> int:
        return len(self.n_spans)

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

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Return spans (JSON), confidence and n_labels."""
        texts = pl.Series("spans", as_json(self.rows, self.tags.cast(pl.String)), dtype=pl.String)
        return {"spans": texts, "confidence": self.confidence, "n_labels": n_labels}

    def facts(self) -> dict[str, Any]:
        """Return the number of spans, in total and per tag."""
        count = np.bincount(self.tag, minlength=len(self.tags)).tolist()
        return {"spans": len(self.start), "tags": dict(zip(self.tags.cast(pl.String).to_list(), count, strict=True))}

    def answer_columns(self) -> tuple[str, ...]:
        """Return the columns of an answer."""
        return ("spans",)

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

    rules: ClassVar[Rules] = {
        "f1": ("m", "f", "skills"),
        "precision": ("m", "f", "skills"),
        "recall": ("m", "f", "skills"),
        "weight": ("m", "f", "amounts"),
    }
    needed: ClassVar[tuple[str, ...]] = ("f1", "precision", "recall", "weight")

    f1: F8
    precision: F8
    recall: F8
    weight: F8

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> SpanWorkers:  # noqa: ARG003
        """Return the worker summary from the arrays of a run folder."""
        return cls(**{name: arrays[name] for name in cls.rules})

    def table(self) -> dict[str, Any]:
        """Return f1, precision, recall and weight."""
        return {name: pl.Series(getattr(self, name)).fill_nan(None) for name in self.rules}
