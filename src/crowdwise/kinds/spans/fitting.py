"""Votes of spans made ready for a method: the text cut into units, what every row says of them, and what is known."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core import method_registry as registry
from ...core.callback import Callback
from ...core.errors import DataError, ParameterError
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.method import Method
from ...core.model import Model
from ...core.result import Result, versions
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote, union
from ...core.votes import Votes
from ...evaluation.calibration import Decided, checked, wanted
from ...stats.gold_calibration import GoldCalibration
from ..classes.annotations import Annotations
from ..classes.methods.confusion.hierarchical import Hierarchical
from ..classes.methods.infer import Policy, refuse_strangers
from .answers import USUAL_WORD, Spans, extents, spans_of, word_units
from .estimate import SpanEstimate, SpanWorkers
from .kind import span_votes, told_by
from .maths import (
    F8,
    I8,
    Cells,
    ChainData,
    ChainFit,
    SpanRows,
    Units,
    between_ends,
    by_place,
    cells,
    covered,
    crossed,
    leading,
    merged,
    nested,
    own_and_others,
    pass_,
    places,
    ranges,
    runs,
    shared,
    shares,
    splits,
    starts,
    summed,
    totals,
    viterbi,
    worker_f1,
)

# Spans of more words than this are passages; shorter ones are names and the like.
LONG = 4.0


@dataclass(frozen=True, eq=False)
class Known:
    """The true spans of some tasks: a row a task, and a mask of the tasks that they are known of."""

    rows: SpanRows
    mask: npt.NDArray[np.bool_]

    def only(self, tag: int) -> Known:
        """Those of one tag, which becomes tag 0."""
        return Known(_flat(self.rows.only(tag)), self.mask)


@dataclass(frozen=True, eq=False)
class Work:
    """One layer of spans in which no two overlap. known[unit] is -1, or 0 outside and 1 + tag inside; known_state
    is the same in the states of a chain."""

    units: Units
    cells: Cells
    row_offsets: I8
    worker: npt.NDArray[np.int32]
    weight: F8
    n_workers: int
    n_tags: int
    known: I8
    known_state: I8
    weighted: bool

    @cached_property
    def chain(self) -> ChainData:
        """The same for models of sequences."""
        return ChainData(self.units, self.cells, self.row_offsets, self.worker, self.weight, self.n_workers,
                         self.n_tags, self.known_state)  # fmt: skip


def unit_rows(votes: Votes[Spans], known: Known | None) -> tuple[SpanRows, I8]:
    """All spans whose ends cut the texts, and the task of each row."""
    rows, task = votes.answers.rows, votes.task.astype(np.int64)
    if known is None:
        return rows, task
    count = np.concatenate([np.diff(rows.offsets), np.diff(known.rows.offsets)])
    both = (np.concatenate([getattr(rows, name), getattr(known.rows, name)]) for name in ("start", "end", "tag"))
    return SpanRows(starts(count), *both), np.concatenate([task, np.arange(votes.n_tasks)])


def cut(votes: Votes[Spans], known: Known | None, words: bool) -> Units:
    """The texts cut at the ends of all spans; with `words`, at the words where the text is known."""
    ends = between_ends(*unit_rows(votes, known), votes.n_tasks, extents(votes))
    if not words:
        return ends
    units, told = word_units(votes)
    return merged(ends, units, told & (np.diff(units.offsets) > 0))


def usual_length(votes: Votes[Spans]) -> float:
    """The median length of a span in words: counted where the texts are known, guessed from characters elsewhere."""
    rows = votes.answers.rows
    if not len(rows.start):
        return 0.0
    units, told = word_units(votes)
    task = votes.task.astype(np.int64)
    some = told[task[rows.row]]
    length = (rows.end - rows.start) / USUAL_WORD
    if some.any():
        first, last = covered(rows, task, units)
        length = np.where(some, last - first, length)
    return float(np.median(length))


def has_all_texts(votes: Votes[Spans]) -> bool:
    """Whether the text of every task with an answer is known."""
    told = word_units(votes)[1]
    return bool(told[votes.labels_per_task > 0].all()) and bool(told.any())


def layer(votes: Votes[Spans], units: Units, known: Known | None, tag: int | None) -> Work:
    """All spans, or those of one tag as if there were no other."""
    rows = votes.answers.rows if tag is None else _flat(votes.answers.rows.only(tag))
    n_tags = len(votes.answers.tags) if tag is None else 1
    task = votes.task.astype(np.int64)
    told = np.full(len(units), -1, dtype=np.int64)
    state = told.copy()
    if known is not None:
        true = known if tag is None else known.only(tag)
        said = cells(true.rows, np.arange(votes.n_tasks), units)
        sure = known.mask[units.task]
        told[sure], state[sure] = said.tag[sure], said.label[sure]
    weight = np.ones(len(votes)) if votes.weight is None else np.asarray(votes.weight, dtype=np.float64)
    return Work(
        units, cells(rows, task, units), votes.task_offsets, votes.worker, weight, votes.n_workers, n_tags, told, state,
        votes.weight is not None,
    )  # fmt: skip


def _flat(rows: SpanRows) -> SpanRows:
    return replace(rows, tag=np.zeros_like(rows.tag))


# ----------------------------------------------------------------
# From what is believed of every unit to spans with confidence, and the workers' picture.


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


# ---------------------------------------------------------------- Known spans of some tasks


def span_truth(truth: Any) -> tuple[pl.Series, Spans]:
    """Any way to write down truths as tasks and their spans."""
    table = truth_table(_texts(truth), ("spans",), like=("label",))
    found, _ = spans_of(table["spans"].to_list(), "the truth of task", table["task"].to_list())
    return table["task"], found


def span_gold(gold: Any, votes: Votes[Spans]) -> tuple[Votes[Spans], Known | None]:
    """The votes over the tags of both, and the known spans; tasks that nobody answered are left out with a warning."""
    if gold is None:
        return votes, None
    tasks, true = span_truth(gold)
    tags = union(votes.answers.tags, true.tags)
    if len(tags) > 1 and not len(votes.answers.rows.start):
        tags = true.tags
    votes = replace(votes, answers=votes.answers.with_tags(tags))
    true = true.with_tags(tags)
    at, placed = place_gold(pl.DataFrame({"task": tasks}), votes.tasks)
    from_row = np.full(votes.n_tasks, -1, dtype=np.int64)
    from_row[at[placed]] = np.flatnonzero(placed)
    mask = from_row >= 0
    part = true.rows.take(from_row[mask])
    count = np.zeros(votes.n_tasks, dtype=np.int64)
    count[mask] = np.diff(part.offsets)
    return votes, Known(SpanRows(starts(count), part.start, part.end, part.tag), mask)


def _texts(truth: Any) -> Any:
    """Lists of spans in a mapping as JSON: a table has one type a column."""
    import json
    from collections.abc import Mapping

    if not isinstance(truth, Mapping):
        return truth
    return {task: spans if isinstance(spans, str) else json.dumps(spans) for task, spans in truth.items()}


# ----------------------------------------------------------------
# What every method for spans shares: checks, gold, layers of tags that overlap, spans with confidence, the Result.

BASE_F8 = npt.NDArray[np.float64]
Arrays = Mapping[str, npt.NDArray[Any]]
# Arrays of what was learnt whose first axis is the workers begin like this.
BY_WORKER = "worker_"


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a method has learnt of one layer, and how it got there; `reason` says what it chose, where it did."""

    arrays: dict[str, npt.NDArray[Any]]
    trace: BASE_F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    converged: bool = True
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class SpanAggregator(Method):
    """A method for spans: `learn` of a layer what its workers are like, and `judge` the layer by that."""

    takes: ClassVar[str] = "spans"

    def fit(
        self,
        votes: Votes[Spans] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,  # noqa: ARG002
        calibrate: bool | None = None,
    ) -> Result:
        """Spans with confidence of these votes, or of a table task, worker, spans.

        `gold` is the known answer of some tasks (a mapping or a table task, spans): it stays put and teaches.
        `calibrate` corrects the confidence by gold; the default method does so unless it is False.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        given = as_spans(votes)
        votes, known = span_gold(gold, given)
        words = self.by_words(votes)
        units = cut(votes, known, words)
        works = [layer(votes, units, known, tag) for tag in layers_of(votes, known)]
        learnt = [self.learn(work, votes) for work in works]
        judged = [self.judge(work, each.arrays) for work, each in zip(works, learnt, strict=True)]
        self.warn_unless_settled(all(each.converged for each in learnt), max(each.n_iter for each in learnt))
        result = self._result(votes, known, units, works, learnt, judged, words)
        return checked(self, result, given, gold) if wanted(self, gold, calibrate) else result

    def by_words(self, votes: Votes[Spans]) -> bool:  # noqa: ARG002
        """Whether texts are cut at words; else at the ends of all spans."""
        return False

    @abstractmethod
    def learn(self, work: Work, votes: Votes[Spans]) -> Learnt:
        """What the workers are like."""

    @abstractmethod
    def judge(self, work: Work, arrays: Arrays) -> Judged:
        """What a layer's rows say of its units, by workers who are like that."""

    def _result(
        self,
        votes: Votes[Spans],
        known: Known | None,
        units: Units,
        works: list[Work],
        learnt: list[Learnt],
        judged: list[Judged],
        words: bool,
    ) -> Result:
        estimate = estimate_of(units, judged, votes.answers.tags, known)
        extra: dict[str, Any] = {"units": "words" if words else "ends", "layers": len(works)}
        if learnt[0].reason:
            extra["reason"] = learnt[0].reason
        for i, each in enumerate(learnt):
            extra |= {f"{i}.{name}": value for name, value in each.arrays.items()}
        only = learnt[0] if len(learnt) == 1 else None
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=estimate,
            picture=picture_of(votes, works, estimate),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=None if known is None else known.mask.copy(),
            trace=np.empty(0) if only is None else only.trace,
            stage=np.zeros(0 if only is None else len(only.trace), dtype=np.int64),
            n_iter=max(each.n_iter for each in learnt),
            converged=all(each.converged for each in learnt),
            extra=extra,
            versions=versions(),
        )


def layers_of(votes: Votes[Spans], known: Known | None) -> list[int | None]:
    """[None] for one layer; the tags where spans of different tags overlap in some answer."""
    over = bool(nested(votes.answers.rows).any()) or (known is not None and bool(nested(known.rows).any()))
    return list(range(len(votes.answers.tags))) if over else [None]


def cut_by_words(units: str, votes: Votes[Spans]) -> bool:
    """What the parameter `units` means for these votes: words, where texts are known and spans are short."""
    if units != "auto":
        if units == "words" and not has_all_texts(votes):
            raise DataError(
                "units=words needs the text of every task: give it with --about-tasks FILE (columns task, text), or "
                "say units=ends"
            )
        return units == "words"

    return has_all_texts(votes) and usual_length(votes) <= LONG


def as_spans(votes: Any) -> Votes[Spans]:
    """Votes of spans as they are, a table task, worker, spans as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Spans):
            return votes
        raise DataError(
            f"spans are needed, got {votes.kind.people}; read the file with kind='spans' (--kind spans), or take a "
            "method for these"
        )
    if isinstance(votes, str | Path):
        raise DataError(f"votes are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
    if isinstance(votes, np.ndarray | list | tuple):
        raise DataError("votes are needed; three columns go through cw.span_votes(task, worker, spans)")
    frame = to_polars(votes)
    wanted = ("task", "worker", "spans")
    picked, _ = pick(frame, dict(told_by(frame.columns) or {}), "the frame", (), wanted)
    made = span_votes(picked.pop("task"), picked.pop("worker"), picked.pop("spans"), **picked)
    if "text" in frame.columns:
        texts = pl.DataFrame({"task": frame[frame.columns[0]] if "task" not in frame.columns else frame["task"],
                              "text": frame["text"]})  # fmt: skip
        made = made.about(tasks=texts.unique("task", maintain_order=True))
    return made


# ----------------------------------------------------------------
# What methods that see a text as a chain share: learning, judging by what was learnt, and decoding.

# Numbers in the table of workers above which a fit would not be worth the memory.
LARGEST = 150_000_000


def refuse_too_large(name: str, work: Work, previous: bool) -> None:
    """One line where the workers' tables would be too large."""
    k = 1 + 2 * work.n_tags
    size = work.n_workers * k ** (3 if previous else 2)
    if size > LARGEST:
        raise ParameterError(
            f"{name} would need a table of {size:,} numbers for {work.n_workers:,} workers and {work.n_tags:,} tags; "
            "take token_dawid_skene or span_vote"
        )


def arrays_of(found: ChainFit) -> dict[str, np.ndarray]:
    """What is kept of a fit."""
    return {f"{BY_WORKER}a": found.a, "start": found.start, "move": found.move}


def posterior(work: Work, arrays: Arrays) -> F8:
    """q[unit, state] by what was learnt."""
    q = np.zeros((len(work.units), 1 + 2 * work.n_tags))
    log_a = np.log(np.maximum(arrays[f"{BY_WORKER}a"], 1e-300))
    pass_(work.chain, log_a, np.asarray(arrays["start"]), np.asarray(arrays["move"]), q)
    silent = np.repeat(np.diff(work.row_offsets) == 0, np.diff(work.units.offsets)) & (work.known < 0)
    q[silent] = np.eye(q.shape[1])[0]
    return q


def decoded(units: Units, q: F8, n_tags: int) -> Judged:
    """The path with most of the posterior on it among those that never do what is forbidden."""
    k = 1 + 2 * n_tags
    path = viterbi(units, q, np.zeros(k), np.zeros((k, k)), n_tags)
    return of_path(q, path)


def decoded_inside_first(units: Units, q: F8, n_tags: int) -> Judged:
    """Marked where all tags together have more than half, as in a vote; which tag, and where spans begin, by the best
    path. A place that two tags share is then not lost to neither."""
    k = 1 + 2 * n_tags
    score = q.copy()
    score[:, 1:] += np.where(q[:, :1] < 0.5, 1.0, -1.0)
    return of_path(q, viterbi(units, score, np.zeros(k), np.zeros((k, k)), n_tags))


def of_path(q: F8, path: I8) -> Judged:
    """States as tags, begins and marginals of tags."""
    return Judged(q[:, 1::2] + q[:, 2::2], (path + 1) // 2, path % 2 == 1)


# ----------------------------------------------------------------
# Spans as decisions: one is right where a known span has its ends and its tag.

DECISIONS_F8 = npt.NDArray[np.float64]
DECISIONS_I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("spans", "with the ends and the tag of a known span", _spans, _right, _apply)


def _own(result: Result) -> SpanEstimate:
    assert isinstance(result.estimate, SpanEstimate)
    return result.estimate


def _spans(result: Result) -> tuple[DECISIONS_I8, DECISIONS_F8]:
    own = _own(result)
    return np.repeat(np.arange(len(own)), own.n_spans), own.sure


def _right(votes: Votes[Spans], result: Result, gold: Any) -> DECISIONS_F8:
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


# ----------------------------------------------------------------
# What a fit of spans has learnt, ready to judge other answers of the same workers.


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


# ----------------------------------------------------------------
# Dawid-Skene on single units: what each is, apart from its neighbours.

# What is said of a unit: its tag, or its state in a chain (begin and inside apart).
Said = Literal["tags", "states"]


def unit_annotations(work: Work, said: Said) -> Annotations:
    """Every cell as an annotation of its unit."""
    label = work.cells.tag if said == "tags" else work.cells.label
    k = 1 + work.n_tags if said == "tags" else 1 + 2 * work.n_tags
    order = np.argsort(work.cells.unit, kind="stable")
    row = work.cells.row[order]
    return Annotations(
        work.cells.unit[order].astype(np.int32),
        work.worker[row],
        label[order].astype(np.int32),
        tasks=pl.Series("task", np.arange(len(work.units))),
        workers=pl.Series("worker", np.arange(work.n_workers)),
        classes=pl.Series("label", np.arange(k)),
        weight=work.weight[row] if work.weighted else None,
    )


def learn_confusions(work: Work, said: Said, max_iter: int) -> tuple[F8, F8, F8, int, bool]:
    """(confusion[worker, true, said], prior[true], trace, rounds, settled)."""
    k = 1 + work.n_tags if said == "tags" else 1 + 2 * work.n_tags
    votes = unit_annotations(work, said)
    known = work.known if said == "tags" else work.known_state
    if not len(votes):
        return np.full((work.n_workers, k, k), 1 / k), np.full(k, 1 / k), np.empty(0), 0, True
    gold = None
    if (known >= 0).any():
        told = np.flatnonzero(known >= 0)
        gold = pl.DataFrame({"task": told, "label": known[told]})
    import warnings

    from ...core.errors import CrowdwiseWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        found = Hierarchical(max_iter=max_iter).fit(votes, gold=gold)
    assert found.confusion is not None
    return found.confusion, found.class_prior, found.trace, found.n_iter, found.converged


def unit_posterior(work: Work, said: Said, confusion: F8, prior: F8) -> F8:
    """p[unit, true] by workers with these confusions."""
    k = len(prior)
    label = work.cells.tag if said == "tags" else work.cells.label
    known = work.known if said == "tags" else work.known_state
    log_a = np.log(np.maximum(confusion, 1e-12))
    worker = work.worker[work.cells.row]
    weight = work.weight[work.cells.row]
    out = np.empty((len(work.units), k))
    for j in range(k):
        out[:, j] = np.bincount(work.cells.unit, weights=weight * log_a[worker, j, label], minlength=len(out))
    out += np.log(np.maximum(prior, 1e-12))
    out -= out.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    silent = np.bincount(work.cells.unit, minlength=len(out)) == 0
    out[silent] = np.eye(k)[0]  # nobody has read it: nothing is marked
    told = known >= 0
    out[told] = np.eye(k)[known[told]]
    return out


# ----------------------------------------------------------------
# The vote on every unit, by workers' weights, and those weights.

# Rounds in which workers are judged by a vote in which the others weigh what they are worth.
ROUNDS = 4


def weighted_shares(work: Work, weight: F8) -> F8:
    """share[unit, 0 outside / 1 + tag] of the vote; certainty where the truth is known."""
    share = shares(work.cells, work.weight * weight[work.worker], len(work.units), work.n_tags)
    told = work.known >= 0
    share[told] = np.eye(work.n_tags + 1)[work.known[told]]
    return share


def voted(work: Work, weight: F8, cut: float, seed: int) -> Judged:
    """Marked where the tags together have more than `cut`, with the tag that has most; `seed` breaks ties."""
    share = weighted_shares(work, weight)
    inside = share[:, 1:].sum(axis=1)
    tag = np.where(inside > cut + 1e-9, 1 + leading(share[:, 1:], work.units.task, seed), 0).astype(np.int64)
    return Judged(share[:, 1:], tag, split_places(work, weight))


def split_places(work: Work, weight: F8) -> np.ndarray:
    """Units where more than half of those who mark them begin a span."""
    return np.asarray(splits(work.cells, work.weight * weight[work.worker], len(work.units)) > 0.5)


def weights_by_f1(work: Work, power: float) -> tuple[F8, F8]:
    """(weight, F1)[worker] after a few rounds: F1 against the vote of the others, each with their own weight, less what
    the place in the text alone explains."""
    weight, where = np.ones(work.n_workers), places(work.units)
    for _ in range(ROUNDS):
        each = work.weight * weight[work.worker]
        both, own, others = own_and_others(work.cells, each, work.units, work.n_tags, work.known)
        chance = by_place(work.cells, each, work.units, work.n_tags, work.worker, work.n_workers, own > 0, work.known,
                          where)  # fmt: skip
        f1 = worker_f1(both, own, others, work.worker, work.n_workers, chance)
        weight = np.maximum(f1, 1e-6) ** power
    return weight, f1
