"""What a fit of spans has learnt, ready to judge other answers of the same workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.model import Model
from ...core.result import Result
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...kinds.spans.estimate import SpanEstimate
from .. import registry
from ..strangers import Policy, refuse_strangers
from .base import BY_WORKER, layers_of
from .found import estimate_of, picture_of
from .work import cut, layer


@dataclass(frozen=True, eq=False)
class SpanModel(Model[Votes[Spans]]):
    """The method, what it learnt of each layer, and the tags; votes have the workers of the fit, by code."""

    method: Any
    layers: tuple[dict[str, npt.NDArray[Any]], ...]
    tags: pl.Series
    words: bool

    def posterior(self, votes: Votes[Spans]) -> SpanEstimate:
        """The spans of every task."""
        tags, known = lookup(self.tags, votes.answers.tags)
        used = np.zeros(len(votes.answers.tags), dtype=bool)
        used[votes.answers.rows.tag] = True
        if not known[used].all():
            strange = votes.answers.tags.filter(pl.Series(used & ~known))
            raise DataError(f"tags {quote(strange)} were not there when {self.method.name} was fitted; fit again")
        rows = replace(votes.answers.rows, tag=tags.astype(np.int64)[votes.answers.rows.tag])
        votes = replace(votes, answers=Spans(rows, self.tags))
        wanted: list[int | None] = [None] if len(self.layers) == 1 else list(range(len(self.tags)))
        if len(self.layers) == 1 and layers_of(votes, None) != [None]:
            raise DataError("spans of different tags overlap here, and did not where the method was fitted; fit again")
        units = cut(votes, None, self.words)
        works = [layer(votes, units, None, tag) for tag in wanted]
        judged = [self.method.judge(work, arrays) for work, arrays in zip(works, self.layers, strict=True)]
        return estimate_of(units, judged, self.tags, None)


def model_of(result: Result) -> SpanModel:
    """The model behind a result."""
    estimate = result.estimate
    assert isinstance(estimate, SpanEstimate)
    known = {name: value for name, value in result.params.items() if name in _fields(result.method)}
    layers: list[dict[str, npt.NDArray[Any]]] = [{} for _ in range(int(result.extra.get("layers", 1)))]
    for name, value in result.extra.items():
        at, dot, own = name.partition(".")
        if dot and at.isdigit() and int(at) < len(layers) and isinstance(value, np.ndarray):
            layers[int(at)][own] = value
    if not all(layers):
        raise DataError(f"what {result.method} has learnt is not in this result; fit again")
    words = result.extra.get("units") == "words"
    return SpanModel(registry.method(result.method, **known), tuple(layers), estimate.tags.cast(pl.String), words)


def infer(result: Result, votes: Votes[Spans], unknown_workers: Policy) -> Result:
    """What the same workers' answers say of other tasks."""
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    model = result.model
    assert isinstance(model, SpanModel)
    index = np.where(known, old, len(result.workers))
    widened = [{n: _with_average(n, v, result.labels_per_worker) for n, v in each.items()} for each in model.layers]
    model = replace(model, layers=tuple(widened))
    workers = pl.concat([result.workers.cast(pl.String), pl.Series([""], dtype=pl.String)])
    judged = replace(votes, worker=index[votes.worker].astype(np.int32), workers=workers)
    estimate = model.posterior(judged)
    own = replace(votes, answers=votes.answers.with_tags(estimate.tags))
    works = [layer(own, cut(own, None, False), None, tag) for tag in layers_of(own, None)]
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=estimate,
        picture=picture_of(own, works, estimate),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
        extra={},
    )


def _fields(method: str) -> set[str]:
    return set(registry.get(method).__dataclass_fields__)


def _with_average(name: str, value: npt.NDArray[Any], labels: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """One worker more, the average of the others by their answers."""
    if not name.startswith(BY_WORKER):
        return value
    return np.concatenate([value, np.average(value, axis=0, weights=np.maximum(labels, 1e-9))[None]])
