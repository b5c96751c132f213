"""Base class of the methods for texts: distances within tasks, worker weights, gold, and the model behind a result."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from ...core import method_registry as registry
from ...core.arrays import F8, I8, Mask
from ...core.callback import Callback
from ...core.errors import DataError
from ...core.method import FitOptions, FitOutput, Method
from ...core.model import Model
from ...core.result import Result, UnknownWorkers
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, union
from ...core.votes import Votes
from ...evaluation.calibration import DecisionHooks
from ...stats.gold_calibration import GoldCalibration
from .answers import Texts, join_words, letter_runs, texts_of, word_runs, written_words
from .estimate import TextEstimate, TextWorkers
from .maths import PSEUDO, Runs, edit_counts, edit_distance, gleu, medoid_rows, pairs_within, voted_words, weights_of

# A custom distance between two texts.
DistanceFunction = Callable[[str, str], float]
# Rounds in which worker weights are recomputed from distances under the previous weights.
ROUNDS = 5


@dataclass(frozen=True, eq=False)
class PreparedTexts:
    """Votes of texts prepared for a method.

    Args:
        votes: The votes.
        gold: gold[task] as a code into the texts of the answers, -1 where unknown.
        distance: Distance between texts given by codes i and j.
    """

    votes: Votes[Texts]
    gold: I8
    distance: Callable[[I8, I8], F8]

    @property
    def text(self) -> I8:
        """Text of each row, as a code."""
        return self.votes.answers.text

    @cached_property
    def row_weight(self) -> F8:
        """Weight of each row."""
        return np.ones(len(self.votes)) if self.votes.weight is None else np.asarray(self.votes.weight)

    @cached_property
    def pairs(self) -> tuple[I8, I8, F8]:
        """Ordered pairs of rows of the same task, and their distances."""
        i, j = pairs_within(self.votes.task_offsets)
        return i, j, self.distance(self.text[i], self.text[j])

    def off(self, weight: F8) -> F8:
        """Weighted mean distance of each row from the others of its task, or from the gold text where there is one."""
        i, j, distance = self.pairs
        n = len(self.votes)
        w = self.row_weight * weight[self.votes.worker]
        total = np.bincount(i, weights=w[j] * distance, minlength=n)
        size = np.bincount(i, weights=w[j], minlength=n)
        out = np.divide(total, size, out=np.zeros(n), where=size > 0)
        gold = self.gold[self.votes.task]
        at = np.flatnonzero(gold >= 0)
        out[at] = self.distance(self.text[at], gold[at])
        return np.asarray(out)

    def errors(self, off: F8) -> F8:
        """Mean distance of each worker, shrunk to the crowd's. Single answers to a task are ignored."""
        use = (self.votes.labels_per_task[self.votes.task] > 1) | (self.gold[self.votes.task] >= 0)
        m = self.votes.n_workers
        mean = float(off[use].mean()) if use.any() else 0.0
        total = np.bincount(self.votes.worker[use], weights=off[use], minlength=m) + PSEUDO * mean
        return np.asarray(total / (np.bincount(self.votes.worker[use], minlength=m) + PSEUDO))

    def weights(self, power: float) -> F8:
        """Worker weights that decrease with the weighted distance from the others, computed in rounds."""
        weight = np.ones(self.votes.n_workers)
        for _ in range(ROUNDS):
            weight = weights_of(self.errors(self.off(weight)), power)
        return weight

    def nearest(self, weight: F8) -> tuple[I8, F8]:
        """Return the medoid row of each task (-1 without answers) and the distance of each row from the others."""
        off = self.off(weight)
        return medoid_rows(self.votes.task_offsets, off, weight[self.votes.worker], self.text), off


def make_distance(answers: Texts, name: str, function: DistanceFunction | None) -> Callable[[I8, I8], F8]:
    """Return the distance "words", "characters" or "gleu", or one that calls a custom function."""
    if function is not None:
        return _custom_distance(answers, function)
    if name == "gleu":
        return lambda i, j: 1 - gleu(answers.mark_runs, i, j)
    if name == "characters":
        runs = letter_runs(answers.texts.to_list())
        return lambda i, j: edit_distance(runs, i, j)
    return lambda i, j: edit_distance(answers.word_runs, i, j)


def _custom_distance(answers: Texts, function: DistanceFunction) -> Callable[[I8, I8], F8]:
    texts = answers.texts.to_list()

    def distance(i: I8, j: I8) -> F8:
        ordered = np.stack([np.minimum(i, j), np.maximum(i, j)], axis=1)
        pairs, back = np.unique(ordered, axis=0, return_inverse=True)
        out = np.array([float(function(texts[a], texts[b])) for a, b in pairs.tolist()])
        if not np.isfinite(out).all() or (out < 0).any():
            bad = int(np.flatnonzero(~np.isfinite(out) | (out < 0))[0])
            raise DataError(f"the custom distance returned {out[bad]} for two texts; it must be a number of at least 0")
        return np.asarray(out[back.ravel()]) if len(out) else np.zeros(len(i))

    return distance


def usual_distance(work: PreparedTexts) -> float:
    """Median distance of two answers to the same task; 0 where no task has two."""
    distance = work.pairs[2]
    return float(np.median(distance)) if len(distance) else 0.0


# ----------------------------------------------------------------
# Base class of the methods: validation, gold, worker weights, and the Result.

DistanceName = Literal["words", "characters", "gleu"]


@dataclass(frozen=True, eq=False)
class TextAnswers:
    """Text of each task with its confidence, and after a vote on words the share of votes for each word."""

    outputs: list[str]
    sure: F8
    n_words: I8 | None = None
    word_sure: F8 = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class TextOptions(FitOptions):
    """Options of a fit with a custom distance between two texts."""

    distance: DistanceFunction | None = None


@dataclass(frozen=True, kw_only=True)
class TextAggregator(Method):
    """Base class of the methods for texts: worker weights, then estimates under these weights.

    `fit` takes votes or a table task, worker, output. Gold are known texts of some tasks, as a mapping or a table task,
    output. Calibration corrects the confidence.
    """

    takes: ClassVar[str] = "texts"

    def fit(
        self,
        votes: Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,
        callback: Callback | None = None,
        calibrate: bool | None = None,
        distance: DistanceFunction | None = None,
    ) -> Result:
        """Estimate the text of each task.

        The arguments are those of `Method.fit`, and `distance`: a function of two texts that returns their distance (0
        or more), instead of the method's own.
        """
        return self.fit_with(votes, gold, TextOptions(prior, n_shards, callback, distance), calibrate)

    def fit_votes(self, votes: Votes[Texts], gold: Any, options: FitOptions) -> FitOutput:
        """Weight the workers, then estimate the texts."""
        votes, gold_codes = text_gold(gold, votes)
        custom = options.distance if isinstance(options, TextOptions) else None
        work = PreparedTexts(votes, gold_codes, make_distance(votes.answers, self.distance_name(votes), custom))
        weight, reason = self.learn(work)
        estimate = estimate_of(self.solve(work, weight), work)
        return FitOutput(
            estimate=estimate,
            worker_summary=summarize_workers(work, weight, estimate),
            gold=None if gold is None else work.gold >= 0,
            extra={"worker_weight": weight} | ({"reason": reason} if reason else {}),
        )

    def distance_name(self, votes: Votes[Texts]) -> str:  # noqa: ARG002
        """Return the name of the distance between answers."""
        return "words"

    def learn(self, work: PreparedTexts) -> tuple[F8, str]:
        """Return worker weights and the reason for a choice of algorithm; by default equal weights."""
        return np.ones(work.votes.n_workers), ""

    @abstractmethod
    def solve(self, work: PreparedTexts, weight: F8) -> TextAnswers:
        """Estimate the texts under worker weights."""


def estimate_of(chosen: TextAnswers, work: PreparedTexts) -> TextEstimate:
    """Build the estimate, with the gold texts in place."""
    gold = work.gold
    texts = work.votes.answers.texts.to_list()
    outputs = [texts[code] if code >= 0 else text for text, code in zip(chosen.outputs, gold.tolist(), strict=True)]
    n_words = np.zeros(len(outputs), dtype=np.int64) if chosen.n_words is None else chosen.n_words
    keep = np.repeat(gold < 0, n_words)
    column = pl.Series("text", outputs, dtype=pl.String)
    vocabulary = column.unique().sort() if len(column) else pl.Series("text", [""], dtype=pl.String)
    return TextEstimate(
        text=lookup(vocabulary, column)[0].astype(np.int64),
        sure=np.clip(np.where(gold >= 0, 1.0, chosen.sure), 0.0, 1.0),
        n_words=np.where(gold < 0, n_words, 0).astype(np.int64),
        word_sure=np.clip(chosen.word_sure[keep], 0.0, 1.0),
        texts=vocabulary,
    )


def summarize_workers(work: PreparedTexts, weight: F8, estimate: TextEstimate) -> TextWorkers:
    """Mean word distance of each worker from the others and from the estimates."""
    votes = work.votes
    plain = replace(work, distance=make_distance(votes.answers, "words", None))
    active = votes.labels_per_worker > 0
    joined = votes.answers.join(Texts(estimate.text, estimate.texts.cast(pl.String)))
    n = len(votes)
    off = edit_distance(joined.word_runs, joined.text[:n], joined.text[n + votes.task.astype(np.int64)])
    mean = np.bincount(votes.worker, weights=off, minlength=votes.n_workers) / np.maximum(votes.labels_per_worker, 1)
    return TextWorkers(
        error=np.where(active, np.clip(plain.errors(plain.off(np.ones(votes.n_workers))), 0, 1), np.nan),
        off=np.where(active, mean, np.nan),
        weight=np.where(active, weight, 0.0),
    )


def text_truth(truth: Any) -> pl.DataFrame:
    """Convert truths in any accepted form to a table task, output."""
    table = truth_table(truth, ("output",), aliases=("label", "text"))
    return table.with_columns(pl.col("output").cast(pl.String))


def text_gold(gold: Any, votes: Votes[Texts]) -> tuple[Votes[Texts], I8]:
    """Recode the votes over the texts of votes and gold; return them and gold[task] as codes, -1 where unknown."""
    gold_codes = np.full(votes.n_tasks, -1, dtype=np.int64)
    if gold is None:
        return votes, gold_codes
    table = text_truth(gold)
    at, placed = place_gold(table, votes.tasks)
    texts = union(votes.answers.texts, table["output"].rename("text"))
    code = lookup(texts, votes.answers.texts)[0].astype(np.int64)[votes.answers.text]
    gold_codes[at[placed]] = lookup(texts, table["output"])[0].astype(np.int64)[placed]
    return replace(votes, answers=Texts(code, texts)), gold_codes


# ----------------------------------------------------------------
# Two algorithms: select one of the answers, or vote word by word.


def select_answers(work: PreparedTexts, weight: F8) -> TextAnswers:
    """Select the answer closest to the others, with confidence by its closeness."""
    row, off = work.nearest(weight)
    texts, has = work.votes.answers.texts.to_list(), row >= 0
    outputs = [texts[work.text[r]] if r >= 0 else "" for r in row.tolist()]
    sure = np.zeros(len(row))
    sure[has] = 1 - np.clip(off[row[has]], 0.0, 1.0)
    return TextAnswers(outputs, sure)


def vote_on_words(work: PreparedTexts, weight: F8) -> TextAnswers:
    """ROVER: align the answers one after the other, starting with the medoid, and vote on each slot."""
    votes = work.votes
    _, off = work.nearest(weight)
    worker_weight = weight[votes.worker]
    order = np.lexsort((work.text, -np.round(worker_weight, 12), np.round(off, 12), votes.task))
    all_runs = votes.answers.word_runs
    count = all_runs.size[work.text]
    offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    first = np.repeat(all_runs.offsets[:-1][work.text] - offsets[:-1], count)
    runs = Runs(offsets, all_runs.word[first + np.arange(int(offsets[-1]))])
    at, row, place, share = voted_words(
        votes.task_offsets, order, runs, work.row_weight * np.maximum(worker_weight, 1e-9)
    )
    texts = votes.answers.texts.to_list()
    parts: dict[int, list[str]] = {}
    words = []
    for code, k in zip(work.text[row].tolist(), place.tolist(), strict=True):
        if code not in parts:
            parts[code] = written_words(texts[code])
        words.append(parts[code][k])
    ends = at.tolist()
    outputs = [join_words(words[a:b]) for a, b in itertools.pairwise(ends)]
    n = np.diff(at)
    task = np.repeat(np.arange(len(n)), n)
    total = np.bincount(task, weights=share, minlength=len(n))
    sure = np.divide(total, n, out=np.where(votes.labels_per_task > 0, 1.0, 0.0), where=n > 0)
    return TextAnswers(outputs, sure, n.astype(np.int64), share)


# ----------------------------------------------------------------
# Decisions: a text is right where it has the words of the known text.


def decisions() -> DecisionHooks:
    """Return the decisions that calibration works on."""
    return DecisionHooks("texts", "to the word", _texts, _right, _apply)


def _texts(result: Result) -> tuple[I8, F8]:
    estimate = result.estimate_as(TextEstimate)
    return np.arange(len(estimate)), estimate.sure


def _right(votes: Votes[Texts], result: Result, gold: Any) -> F8:
    table = text_truth(gold)
    at, placed = place_gold(table, votes.tasks)
    rows = np.flatnonzero(placed)
    task, n = at[rows].astype(np.int64), len(rows)
    outputs = result.estimate_as(TextEstimate).outputs
    runs = word_runs([outputs[t] for t in task.tolist()] + table["output"].gather(rows.tolist()).to_list())
    out = np.full(votes.n_tasks, np.nan)
    out[task] = edit_counts(runs, np.arange(n), n + np.arange(n)) == 0
    return out


def _apply(estimate: TextEstimate, calibration: GoldCalibration, keep: Mask, parts: Any) -> TextEstimate:
    del parts
    return replace(estimate, sure=np.where(keep, estimate.sure, calibration.of(estimate.sure)))


# ----------------------------------------------------------------
# The model behind a result, which estimates other tasks from answers of the same workers.


@dataclass(frozen=True, eq=False)
class TextModel(Model[Votes[Texts]]):
    """A method and its worker weights. Worker codes of votes are those of the fit."""

    method: Any
    weight: F8

    def work(self, votes: Votes[Texts]) -> PreparedTexts:
        """Prepare votes."""
        votes, gold = text_gold(None, votes)
        return PreparedTexts(votes, gold, make_distance(votes.answers, self.method.distance_name(votes), None))

    def posterior(self, votes: Votes[Texts]) -> TextEstimate:
        """Estimate the text of each task."""
        work = self.work(votes)
        return estimate_of(self.method.solve(work, self.weight), work)


def model_of(result: Result) -> TextModel:
    """Restore the model behind a result."""
    if "worker_weight" not in result.extra:
        raise DataError(f"this result lacks the fitted parameters of {result.method}; fit again")
    fields = registry.get(result.method).__dataclass_fields__
    params: dict[str, Any] = {name: value for name, value in result.params.items() if name in fields}
    if str(result.extra.get("reason", "")).startswith("the answer in the middle"):
        params["choose"] = "answers"  # keep the choice of the fit, whatever the new answers
    elif "choose" in fields:
        params["choose"] = "words"
    return TextModel(registry.method(result.method, **params), np.asarray(result.extra["worker_weight"]))


def infer(result: Result, votes: Votes[Texts], unknown_workers: UnknownWorkers) -> Result:
    """Estimate other tasks from answers of the same workers, without fitting again."""
    codes, is_known = result.worker_codes(votes.workers, unknown_workers)
    model = result.model
    assert isinstance(model, TextModel)
    weight = result.worker_values(model.weight, codes, is_known)
    model = replace(model, weight=weight)
    estimate = model.posterior(votes)
    return result.for_votes(votes, estimate, summarize_workers(model.work(votes), weight, estimate))


def estimated_answers(votes: Votes[Texts], result: Result) -> Texts:  # noqa: ARG001
    """Return the estimates as answers, one per task."""
    return texts_of(pl.Series("output", result.estimate_as(TextEstimate).outputs, dtype=pl.String))


def gold_answers(votes: Votes[Texts], gold: Any) -> tuple[I8, Texts]:
    """Return the codes of the gold tasks and their texts as answers."""
    table = text_truth(gold)
    at, is_known = lookup(votes.tasks, table["task"])
    return at[is_known].astype(np.int64), texts_of(table["output"].filter(pl.Series(is_known)))
