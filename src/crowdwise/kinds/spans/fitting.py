"""Base class of the methods for spans: input checks, gold, units of the text, layers, estimates and inference."""

from __future__ import annotations

import json
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core import method_registry as registry
from ...core.arrays import F8, I8, Mask
from ...core.errors import CrowdwiseWarning, DataError, ParameterError
from ...core.estimate import Arrays
from ...core.intake.columns import pick
from ...core.method import FitOptions, FitOutput, Method
from ...core.model import Model
from ...core.result import FitTrace, Result, UnknownWorkers
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote, union
from ...core.votes import Votes
from ...evaluation.calibration import DecisionHooks
from ...stats.gold_calibration import GoldCalibration
from ...stats.ragged import ranges, starts, sums
from ..classes.annotations import Annotations
from ..classes.methods.confusion.hierarchical import Hierarchical
from .answers import WORD_LENGTH, Spans, detect_columns, extents, span_votes, spans_of, word_units
from .estimate import SpanEstimate, SpanWorkers
from .maths import (
    Cells,
    ChainData,
    ChainFit,
    SpanRows,
    TextUnits,
    agreement_by_place,
    cells,
    covered_units,
    e_step,
    f1_terms,
    has_overlapping_tags,
    leading_tag,
    marked_lengths,
    overlapping_pairs,
    runs,
    select_units,
    shared_lengths,
    shares,
    splits,
    unit_positions,
    units_between_ends,
    viterbi,
    worker_f1,
)

# Spans with more words than this are passages; shorter ones are names and the like.
LONG = 4.0


@dataclass(frozen=True, eq=False)
class GoldSpans:
    """Known spans: one row per task, and a mask of the tasks that have gold."""

    rows: SpanRows
    mask: Mask

    def only(self, tag: int) -> GoldSpans:
        """Return the spans of one tag, which becomes tag 0."""
        return GoldSpans(_flat(self.rows.only(tag)), self.mask)


@dataclass(frozen=True, eq=False)
class SpanLayer:
    """Votes on the units of the texts, in a layer in which no two spans of an answer overlap.

    gold[unit] is -1 if unknown, 0 outside and 1 + tag inside. gold_state[unit] is the same as a state of the chain.
    """

    units: TextUnits
    cells: Cells
    row_offsets: I8
    worker: npt.NDArray[np.int32]
    weight: F8
    n_workers: int
    n_tags: int
    gold: I8
    gold_state: I8
    weighted: bool

    @cached_property
    def chain(self) -> ChainData:
        """The same data for the chain models."""
        return ChainData(self.units, self.cells, self.row_offsets, self.worker, self.weight, self.n_workers,
                         self.n_tags, self.gold_state)  # fmt: skip


def unit_rows(votes: Votes[Spans], gold: GoldSpans | None) -> tuple[SpanRows, I8]:
    """Return all spans at whose ends the texts are cut, and the task of each row."""
    rows, task = votes.answers.rows, votes.task.astype(np.int64)
    if gold is None:
        return rows, task
    count = np.concatenate([np.diff(rows.offsets), np.diff(gold.rows.offsets)])
    arrays = (np.concatenate([getattr(rows, name), getattr(gold.rows, name)]) for name in ("start", "end", "tag"))
    return SpanRows(starts(count), *arrays), np.concatenate([task, np.arange(votes.n_tasks)])


def cut_texts(votes: Votes[Spans], gold: GoldSpans | None, words: bool) -> TextUnits:
    """Cut the texts at the ends of all spans or, with `words`, at words where the text is known."""
    ends = units_between_ends(*unit_rows(votes, gold), votes.n_tasks, extents(votes))
    if not words:
        return ends
    units, has_units = word_units(votes)
    return select_units(ends, units, has_units & (np.diff(units.offsets) > 0))


def median_length(votes: Votes[Spans]) -> float:
    """Return the median length of a span in words, estimated from characters where the text is not known."""
    rows = votes.answers.rows
    if not len(rows.start):
        return 0.0
    units, has_text = word_units(votes)
    task = votes.task.astype(np.int64)
    in_text = has_text[task[rows.row]]
    length = (rows.end - rows.start) / WORD_LENGTH
    if in_text.any():
        first, last = covered_units(rows, task, units)
        length = np.where(in_text, last - first, length)
    return float(np.median(length))


def has_all_texts(votes: Votes[Spans]) -> bool:
    """Return whether the texts of all tasks with answers are known."""
    has_text = word_units(votes)[1]
    return bool(has_text[votes.labels_per_task > 0].all()) and bool(has_text.any())


def span_layer(votes: Votes[Spans], units: TextUnits, gold: GoldSpans | None, tag: int | None) -> SpanLayer:
    """Return the layer of all spans, or of the spans of one tag alone."""
    rows = votes.answers.rows if tag is None else _flat(votes.answers.rows.only(tag))
    n_tags = len(votes.answers.tags) if tag is None else 1
    task = votes.task.astype(np.int64)
    gold_tag = np.full(len(units), -1, dtype=np.int64)
    gold_state = gold_tag.copy()
    if gold is not None:
        layer_gold = gold if tag is None else gold.only(tag)
        gold_cells = cells(layer_gold.rows, np.arange(votes.n_tasks), units)
        is_gold = gold.mask[units.task]
        gold_tag[is_gold], gold_state[is_gold] = gold_cells.tag[is_gold], gold_cells.label[is_gold]
    weight = np.ones(len(votes)) if votes.weight is None else np.asarray(votes.weight, dtype=np.float64)
    return SpanLayer(
        units, cells(rows, task, units), votes.task_offsets, votes.worker, weight, votes.n_workers, n_tags, gold_tag,
        gold_state, votes.weight is not None,
    )  # fmt: skip


def _flat(rows: SpanRows) -> SpanRows:
    return replace(rows, tag=np.zeros_like(rows.tag))


# ----------------------------------------------------------------
# From decoded units to spans with confidence and the worker summary.


@dataclass(frozen=True, eq=False)
class DecodedUnits:
    """Decoded units of a layer.

    Args:
        marginal: marginal[unit, tag], the probability of each tag.
        tag: tag[unit], 0 outside and 1 + tag inside.
        breaks: Units where a new span begins although the previous unit has the same tag.
    """

    marginal: F8
    tag: I8
    breaks: Mask


def estimate_of(
    units: TextUnits, decoded: Sequence[DecodedUnits], tags: pl.Series, gold: GoldSpans | None
) -> SpanEstimate:
    """Return the spans of all layers; gold spans replace the estimates of gold tasks."""
    n_tasks = len(units.offsets) - 1
    marginal = (
        decoded[0].marginal if len(decoded) == 1 else np.concatenate([layer.marginal for layer in decoded], axis=1)
    )
    parts = []
    for i, layer in enumerate(decoded):
        first, after, tag = runs(layer.tag, layer.breaks, units)
        parts.append((units.task[first], first, after, tag - 1 if len(decoded) == 1 else np.full(len(first), i)))
    task, first, after, tag = (np.concatenate(layer) for layer in zip(*parts, strict=True))
    sure = _mean_of(marginal, units, first, after, tag)
    start, end = units.start[first], units.end[after - 1]
    if gold is not None:
        keep = ~gold.mask[task]
        row = gold.rows.row
        task, start, end, tag, sure = (
            np.concatenate([a[keep], b])
            for a, b in ((task, row), (start, gold.rows.start), (end, gold.rows.end), (tag, gold.rows.tag),
                         (sure, np.ones(len(row))))
        )  # fmt: skip
        marginal = _with_gold(marginal, units, gold)
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


def _mean_of(marginal: F8, units: TextUnits, first: I8, after: I8, tag: I8) -> F8:
    """Return the mean of marginal[., tag] over the units first .. after, weighted by their lengths."""
    length = np.maximum(units.length, 1).astype(np.float64)
    size = np.concatenate([[0.0], np.cumsum(length)])
    out = np.zeros(len(first))
    for t in np.unique(tag):
        has_tag = tag == t
        mass = np.concatenate([[0.0], np.cumsum(length * marginal[:, t])])
        out[has_tag] = (mass[after[has_tag]] - mass[first[has_tag]]) / (size[after[has_tag]] - size[first[has_tag]])
    return out


def _with_gold(marginal: F8, units: TextUnits, gold: GoldSpans) -> F8:
    out = marginal.copy()
    out[gold.mask[units.task]] = 0.0
    first, last = covered_units(gold.rows, np.arange(len(units.offsets) - 1), units)
    for t in np.unique(gold.rows.tag):
        has_tag = gold.rows.tag == t
        out[ranges(first[has_tag], (last - first)[has_tag]), t] = 1.0
    return out


def summarize_workers(votes: Votes[Spans], layers: Sequence[SpanLayer], estimate: SpanEstimate) -> SpanWorkers:
    """Compare each worker with the others and with the estimate."""
    m = votes.n_workers
    terms = [f1_terms(layer.cells, layer.weight, layer.units, layer.n_tags, layer.gold) for layer in layers]
    agreed, marked, marked_by_others = (np.sum(lengths, axis=0) for lengths in zip(*terms, strict=True))
    f1 = worker_f1(agreed, marked, marked_by_others, votes.worker, m)
    has_votes = votes.labels_per_worker > 0
    estimated = estimate.rows.take(votes.task.astype(np.int64))
    hit, marked_length, expected = (
        sums(lengths, votes.worker, m)
        for lengths in (
            shared_lengths(votes.answers.rows, estimated),
            marked_lengths(votes.answers.rows),
            marked_lengths(estimated),
        )
    )
    return SpanWorkers(
        f1=np.where(has_votes, f1, np.nan),
        precision=_over(hit, marked_length),
        recall=_over(hit, expected),
        weight=np.where(has_votes, f1**2, 0.0),
    )


def _over(a: F8, b: F8) -> F8:
    return np.asarray(np.divide(a, b, out=np.full(len(a), np.nan), where=b > 0).clip(0.0, 1.0))


# ---------------------------------------------------------------- Gold spans


def span_truth(truth: Any) -> tuple[pl.Series, Spans]:
    """Return the tasks of a truth, given as a mapping or a table, and their spans."""
    table = truth_table(_texts(truth), ("spans",), aliases=("label",))
    spans, _ = spans_of(table["spans"].to_list(), "the truth of task", table["task"].to_list())
    return table["task"], spans


def span_gold(gold: Any, votes: Votes[Spans]) -> tuple[Votes[Spans], GoldSpans | None]:
    """Return votes and gold over the union of their tags; gold tasks without answers are dropped with a warning."""
    if gold is None:
        return votes, None
    tasks, spans = span_truth(gold)
    tags = union(votes.answers.tags, spans.tags)
    if len(tags) > 1 and not len(votes.answers.rows.start):
        tags = spans.tags
    votes = replace(votes, answers=votes.answers.with_tags(tags))
    spans = spans.with_tags(tags)
    at, placed = place_gold(pl.DataFrame({"task": tasks}), votes.tasks)
    from_row = np.full(votes.n_tasks, -1, dtype=np.int64)
    from_row[at[placed]] = np.flatnonzero(placed)
    mask = from_row >= 0
    part = spans.rows.take(from_row[mask])
    count = np.zeros(votes.n_tasks, dtype=np.int64)
    count[mask] = np.diff(part.offsets)
    return votes, GoldSpans(SpanRows(starts(count), part.start, part.end, part.tag), mask)


def _texts(truth: Any) -> Any:
    """Return a mapping with lists of spans encoded as JSON, since a table column has one type."""
    if not isinstance(truth, Mapping):
        return truth
    return {task: spans if isinstance(spans, str) else json.dumps(spans) for task, spans in truth.items()}


# ----------------------------------------------------------------
# The base class of the methods.

# Prefix of the names of fitted arrays whose first axis is the worker.
BY_WORKER = "worker_"


@dataclass(frozen=True, eq=False)
class LayerFit(FitTrace):
    """Fitted arrays of one layer with their convergence; `reason` explains the choice of a method that has several."""

    arrays: dict[str, npt.NDArray[Any]]
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class SpanAggregator(Method):
    """Base class of the methods for spans.

    `fit_layer` fits the workers of a layer, and `decode_layer` estimates its units from the fitted arrays. If spans of
    different tags overlap in some answer, each tag has its own layer; otherwise there is one layer.

    `fit` takes votes or a table task, worker, spans (and text). Gold are known spans of some tasks, as a mapping or a
    table task, spans.
    """

    takes: ClassVar[str] = "spans"

    def fit_votes(self, votes: Votes[Spans], gold: Any, options: FitOptions) -> FitOutput:  # noqa: ARG002
        """Cut the texts, then fit and decode each layer."""
        votes, gold_spans = span_gold(gold, votes)
        words = self.by_words(votes)
        units = cut_texts(votes, gold_spans, words)
        layers = [span_layer(votes, units, gold_spans, tag) for tag in layer_tags(votes, gold_spans)]
        fits = [self.fit_layer(layer, votes) for layer in layers]
        decoded = [self.decode_layer(layer, fit.arrays) for layer, fit in zip(layers, fits, strict=True)]
        estimate = estimate_of(units, decoded, votes.answers.tags, gold_spans)
        extra: dict[str, Any] = {"units": "words" if words else "ends", "layers": len(layers)}
        if fits[0].reason:
            extra["reason"] = fits[0].reason
        for i, fit in enumerate(fits):
            extra |= {f"{i}.{name}": value for name, value in fit.arrays.items()}
        return FitOutput(
            estimate=estimate,
            worker_summary=summarize_workers(votes, layers, estimate),
            gold=None if gold_spans is None else gold_spans.mask.copy(),
            trace=fits[0].trace if len(fits) == 1 else np.empty(0),
            n_iter=max(fit.n_iter for fit in fits),
            converged=all(fit.converged for fit in fits),
            extra=extra,
        )

    def by_words(self, votes: Votes[Spans]) -> bool:  # noqa: ARG002
        """Return whether texts are cut at words; otherwise they are cut at the ends of all spans."""
        return False

    @abstractmethod
    def fit_layer(self, layer: SpanLayer, votes: Votes[Spans]) -> LayerFit:
        """Fit the workers of a layer."""

    @abstractmethod
    def decode_layer(self, layer: SpanLayer, arrays: Arrays) -> DecodedUnits:
        """Estimate the units of a layer from the fitted arrays."""


def layer_tags(votes: Votes[Spans], gold: GoldSpans | None) -> list[int | None]:
    """Return [None] for a single layer, or all tags if spans of different tags overlap in some answer."""
    overlap = bool(has_overlapping_tags(votes.answers.rows).any()) or (
        gold is not None and bool(has_overlapping_tags(gold.rows).any())
    )
    return list(range(len(votes.answers.tags))) if overlap else [None]


def use_words(units: str, votes: Votes[Spans]) -> bool:
    """Return whether to cut texts at words; "auto" does if all texts are known and spans are short."""
    if units != "auto":
        if units == "words" and not has_all_texts(votes):
            raise DataError(
                "units=words needs the text of every task: pass --about-tasks FILE (columns task, text), or use "
                "units=ends"
            )
        return units == "words"

    return has_all_texts(votes) and median_length(votes) <= LONG


def from_table(table: pl.DataFrame) -> Votes[Spans]:
    """Convert a table task, worker, spans to votes; a column text is read as the text of each task."""
    roles = ("task", "worker", "spans")
    columns, _ = pick(table, detect_columns(table.columns), "the frame", (), roles)
    votes = span_votes(**columns)
    if "text" not in table.columns:
        return votes
    texts = pl.DataFrame(
        {"task": table["task" if "task" in table.columns else table.columns[0]], "text": table["text"]}
    )
    return votes.about(tasks=texts.unique("task", maintain_order=True))


# ----------------------------------------------------------------
# Decoding, and checks of the chain models.

# Maximum number of entries in the tables of the workers.
MAX_TABLE_SIZE = 150_000_000


def refuse_too_large(name: str, layer: SpanLayer, previous: bool) -> None:
    """Raise a ParameterError if the tables of the workers would be too large."""
    k = 1 + 2 * layer.n_tags
    size = layer.n_workers * k ** (3 if previous else 2)
    if size > MAX_TABLE_SIZE:
        raise ParameterError(
            f"{name} would need a table of {size:,} numbers for {layer.n_workers:,} workers and {layer.n_tags:,} tags; "
            "use token_dawid_skene or span_vote"
        )


def arrays_of(chain: ChainFit) -> dict[str, np.ndarray]:
    """Return the arrays of a fitted chain that are stored in the result."""
    return {f"{BY_WORKER}a": chain.a, "start": chain.start, "move": chain.move}


def posterior(layer: SpanLayer, arrays: Arrays) -> F8:
    """Return the posterior q[unit, state] under the fitted arrays."""
    q = np.zeros((len(layer.units), 1 + 2 * layer.n_tags))
    log_a = np.log(np.maximum(arrays[f"{BY_WORKER}a"], 1e-300))
    e_step(layer.chain, log_a, np.asarray(arrays["start"]), np.asarray(arrays["move"]), q)
    unanswered = np.repeat(np.diff(layer.row_offsets) == 0, np.diff(layer.units.offsets)) & (layer.gold < 0)
    q[unanswered] = np.eye(q.shape[1])[0]
    return q


def decoded(units: TextUnits, q: F8, n_tags: int) -> DecodedUnits:
    """Return the allowed path with the highest posterior sum."""
    k = 1 + 2 * n_tags
    path = viterbi(units, q, np.zeros(k), np.zeros((k, k)), n_tags)
    return from_path(q, path)


def decoded_inside_first(units: TextUnits, q: F8, n_tags: int) -> DecodedUnits:
    """Mark units where all tags together have more than half, as in a vote; the best path decides tags and beginnings.

    A unit on which two tags share the majority is therefore still marked.
    """
    k = 1 + 2 * n_tags
    score = q.copy()
    score[:, 1:] += np.where(q[:, :1] < 0.5, 1.0, -1.0)
    return from_path(q, viterbi(units, score, np.zeros(k), np.zeros((k, k)), n_tags))


def from_path(q: F8, path: I8) -> DecodedUnits:
    """Return the tags, beginnings and tag marginals of a path of states."""
    return DecodedUnits(q[:, 1::2] + q[:, 2::2], (path + 1) // 2, path % 2 == 1)


# ----------------------------------------------------------------
# Estimates and gold as answers, to measure distances between them.


def estimated_answers(votes: Votes[Spans], result: Result) -> Spans:  # noqa: ARG001
    """Return the estimated spans as one answer per task."""
    estimate = result.estimate_as(SpanEstimate)
    return Spans(estimate.rows, estimate.tags.cast(pl.String))


def gold_answers(votes: Votes[Spans], gold: Any) -> tuple[I8, Spans]:
    """Return the codes of the gold tasks and their spans."""
    names, spans = span_truth(gold)
    task, is_gold = lookup(votes.tasks, names)
    return task[is_gold].astype(np.int64), spans.take(np.flatnonzero(is_gold))


# ----------------------------------------------------------------
# Spans as decisions: a span is correct if a gold span has the same ends and the same tag.


def decisions() -> DecisionHooks:
    """Return how spans are judged right or wrong."""
    return DecisionHooks("spans", "with the ends and the tag of a known span", _spans, _right, _apply)


def _spans(result: Result) -> tuple[I8, F8]:
    estimate = result.estimate_as(SpanEstimate)
    return np.repeat(np.arange(len(estimate)), estimate.n_spans), estimate.sure


def _right(votes: Votes[Spans], result: Result, gold: Any) -> F8:
    estimate = result.estimate_as(SpanEstimate)
    names, truth = span_truth(gold)
    at, placed = place_gold(pl.DataFrame({"task": names}), votes.tasks)
    rows = np.flatnonzero(placed)
    task = at[rows].astype(np.int64)
    tags = union(estimate.tags.cast(pl.String), truth.tags.cast(pl.String))
    estimated = Spans(estimate.rows, estimate.tags.cast(pl.String)).with_tags(tags).rows.take(task)
    expected = truth.with_tags(tags).rows.take(rows)
    _, a, b, _ = overlapping_pairs(estimated, expected)
    equal = (estimated.start[a] == expected.start[b]) & (estimated.end[a] == expected.end[b])
    hit = np.zeros(len(estimated.start))
    hit[a[equal]] = 1.0
    out = np.full(len(estimate.start), np.nan)
    out[ranges(estimate.rows.offsets[:-1][task], estimate.n_spans[task])] = hit
    return out


def _apply(estimate: SpanEstimate, calibration: GoldCalibration, keep: Mask, parts: Any) -> SpanEstimate:
    del parts
    task = np.repeat(np.arange(len(estimate)), estimate.n_spans)
    return replace(estimate, sure=np.where(keep[task], estimate.sure, calibration.of(estimate.sure)))


# ----------------------------------------------------------------
# Spans of new tasks by the same workers, with all estimates held fixed.


@dataclass(frozen=True, eq=False)
class SpanModel(Model[Votes[Spans]]):
    """A fitted method: the arrays of each layer and the tags. Votes must use the worker codes of the fit."""

    method: Any
    layers: tuple[dict[str, npt.NDArray[Any]], ...]
    tags: pl.Series
    words: bool

    def posterior(self, votes: Votes[Spans]) -> SpanEstimate:
        """Return the spans of each task."""
        tags, is_known = lookup(self.tags, votes.answers.tags)
        used = np.zeros(len(votes.answers.tags), dtype=bool)
        used[votes.answers.rows.tag] = True
        if not is_known[used].all():
            unknown = votes.answers.tags.filter(pl.Series(used & ~is_known))
            raise DataError(f"{self.method.name} was fitted without the tags {quote(unknown)}; fit again with them")
        rows = replace(votes.answers.rows, tag=tags.astype(np.int64)[votes.answers.rows.tag])
        votes = replace(votes, answers=Spans(rows, self.tags))
        tags_of_layers: list[int | None] = [None] if len(self.layers) == 1 else list(range(len(self.tags)))
        if len(self.layers) == 1 and layer_tags(votes, None) != [None]:
            raise DataError("spans of different tags overlap here, but did not in the votes of the fit; fit again")
        units = cut_texts(votes, None, self.words)
        layers = [span_layer(votes, units, None, tag) for tag in tags_of_layers]
        decoded = [self.method.decode_layer(layer, arrays) for layer, arrays in zip(layers, self.layers, strict=True)]
        return estimate_of(units, decoded, self.tags, None)


def model_of(result: Result) -> SpanModel:
    """Return the fitted model of a result."""
    estimate = result.estimate_as(SpanEstimate)
    params = {name: value for name, value in result.params.items() if name in _fields(result.method)}
    layers: list[dict[str, npt.NDArray[Any]]] = [{} for _ in range(int(result.extra.get("layers", 1)))]
    for name, value in result.extra.items():
        index, dot, array = name.partition(".")
        if dot and index.isdigit() and int(index) < len(layers) and isinstance(value, np.ndarray):
            layers[int(index)][array] = value
    if not all(layers):
        raise DataError(f"this result does not hold the fitted arrays of {result.method}; fit again")
    words = result.extra.get("units") == "words"
    return SpanModel(registry.method(result.method, **params), tuple(layers), estimate.tags.cast(pl.String), words)


def infer(result: Result, votes: Votes[Spans], unknown_workers: UnknownWorkers) -> Result:
    """Estimate the spans of new tasks by the fitted workers of a result."""
    old, is_known = result.worker_codes(votes.workers, unknown_workers)
    model = result.model
    assert isinstance(model, SpanModel)
    index = np.where(is_known, old, len(result.workers))
    widened = [{n: _with_average(n, v, result.labels_per_worker) for n, v in arrays.items()} for arrays in model.layers]
    model = replace(model, layers=tuple(widened))
    workers = pl.concat([result.workers.cast(pl.String), pl.Series([""], dtype=pl.String)])
    coded = replace(votes, worker=index[votes.worker].astype(np.int32), workers=workers)
    estimate = model.posterior(coded)
    retagged = replace(votes, answers=votes.answers.with_tags(estimate.tags))
    layers = [span_layer(retagged, cut_texts(retagged, None, False), None, tag) for tag in layer_tags(retagged, None)]
    return result.for_votes(votes, estimate, summarize_workers(retagged, layers, estimate))


def _fields(method: str) -> set[str]:
    return set(registry.get(method).__dataclass_fields__)


def _with_average(name: str, value: npt.NDArray[Any], labels: I8) -> npt.NDArray[Any]:
    """Append an average worker, weighted by the workers' numbers of answers."""
    if not name.startswith(BY_WORKER):
        return value
    return np.concatenate([value, np.average(value, axis=0, weights=np.maximum(labels, 1e-9))[None]])


# ----------------------------------------------------------------
# Dawid-Skene on single units.

# Labels of a unit: its tag, or its state in a chain, which distinguishes begin and inside.
LabelSet = Literal["tags", "states"]


def unit_annotations(layer: SpanLayer, labels: LabelSet) -> Annotations:
    """Return every cell as a label of its unit."""
    label = layer.cells.tag if labels == "tags" else layer.cells.label
    k = 1 + layer.n_tags if labels == "tags" else 1 + 2 * layer.n_tags
    order = np.argsort(layer.cells.unit, kind="stable")
    row = layer.cells.row[order]
    return Annotations(
        layer.cells.unit[order].astype(np.int32),
        layer.worker[row],
        label[order].astype(np.int32),
        tasks=pl.Series("task", np.arange(len(layer.units))),
        workers=pl.Series("worker", np.arange(layer.n_workers)),
        classes=pl.Series("label", np.arange(k)),
        weight=layer.weight[row] if layer.weighted else None,
    )


def fit_confusions(layer: SpanLayer, labels: LabelSet, max_iter: int) -> tuple[F8, F8, F8, int, bool]:
    """Return (confusion[worker, true, observed], prior[true], trace, iterations, converged)."""
    k = 1 + layer.n_tags if labels == "tags" else 1 + 2 * layer.n_tags
    votes = unit_annotations(layer, labels)
    gold_label = layer.gold if labels == "tags" else layer.gold_state
    if not len(votes):
        return np.full((layer.n_workers, k, k), 1 / k), np.full(k, 1 / k), np.empty(0), 0, True
    gold = None
    if (gold_label >= 0).any():
        units = np.flatnonzero(gold_label >= 0)
        gold = pl.DataFrame({"task": units, "label": gold_label[units]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        result = Hierarchical(max_iter=max_iter).fit(votes, gold=gold)
    assert result.confusion is not None
    return result.confusion, result.class_prior, result.trace, result.n_iter, result.converged


def unit_posterior(layer: SpanLayer, labels: LabelSet, confusion: F8, prior: F8) -> F8:
    """Return the posterior p[unit, true] given the confusion matrices."""
    k = len(prior)
    label = layer.cells.tag if labels == "tags" else layer.cells.label
    gold_label = layer.gold if labels == "tags" else layer.gold_state
    log_a = np.log(np.maximum(confusion, 1e-12))
    worker = layer.worker[layer.cells.row]
    weight = layer.weight[layer.cells.row]
    out = np.empty((len(layer.units), k))
    for j in range(k):
        out[:, j] = np.bincount(layer.cells.unit, weights=weight * log_a[worker, j, label], minlength=len(out))
    out += np.log(np.maximum(prior, 1e-12))
    out -= out.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    unanswered = np.bincount(layer.cells.unit, minlength=len(out)) == 0
    out[unanswered] = np.eye(k)[0]  # without answers nothing is marked
    is_gold = gold_label >= 0
    out[is_gold] = np.eye(k)[gold_label[is_gold]]
    return out


# ----------------------------------------------------------------
# The weighted vote on units, and the weights of the workers.

# Rounds in which workers are scored against the weighted vote of the others.
ROUNDS = 4


def weighted_shares(layer: SpanLayer, weight: F8) -> F8:
    """Return share[unit, 0 outside / 1 + tag] of the weighted vote; 0 or 1 on gold units."""
    share = shares(layer.cells, layer.weight * weight[layer.worker], len(layer.units), layer.n_tags)
    is_gold = layer.gold >= 0
    share[is_gold] = np.eye(layer.n_tags + 1)[layer.gold[is_gold]]
    return share


def vote_units(layer: SpanLayer, weight: F8, threshold: float, seed: int) -> DecodedUnits:
    """Mark units where all tags together have more than `threshold`, with the leading tag; `seed` breaks ties."""
    share = weighted_shares(layer, weight)
    inside = share[:, 1:].sum(axis=1)
    tag = np.where(inside > threshold + 1e-9, 1 + leading_tag(share[:, 1:], layer.units.task, seed), 0).astype(np.int64)
    return DecodedUnits(share[:, 1:], tag, split_places(layer, weight))


def split_places(layer: SpanLayer, weight: F8) -> np.ndarray:
    """Return the units where more than half of the workers who mark them begin a span."""
    return np.asarray(splits(layer.cells, layer.weight * weight[layer.worker], len(layer.units)) > 0.5)


def weights_by_f1(layer: SpanLayer, power: float) -> tuple[F8, F8]:
    """Return (weight, F1)[worker] after a few rounds.

    F1 is measured against the weighted vote of the others, less the agreement explained by position in the text.
    """
    weight, positions = np.ones(layer.n_workers), unit_positions(layer.units)
    for _ in range(ROUNDS):
        row_weight = layer.weight * weight[layer.worker]
        agreed, marked, marked_by_others = f1_terms(layer.cells, row_weight, layer.units, layer.n_tags, layer.gold)
        chance = agreement_by_place(
            layer.cells, row_weight, layer.units, layer.n_tags, layer.worker, layer.n_workers, marked > 0, layer.gold,
            positions,
        )  # fmt: skip
        f1 = worker_f1(agreed, marked, marked_by_others, layer.worker, layer.n_workers, chance)
        weight = np.maximum(f1, 1e-6) ** power
    return weight, f1
