"""Votes of texts made ready for a method: distances within tasks, weights of workers, and what is known."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable
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
from ...core.vocabulary import lookup, union
from ...core.votes import Votes
from ...evaluation.calibration import Decided, checked, wanted
from ...stats.gold_calibration import GoldCalibration
from ..classes.methods.infer import Policy, refuse_strangers
from .answers import Texts, letter_runs, put_together, word_runs, written
from .estimate import TextEstimate, TextWorkers
from .kind import text_votes, told_by
from .maths import F8, I8, PSEUDO, Runs, edit_counts, edit_distance, gleu, middle, pairs_within, voted_words, weights_of

# What the user gives: how far two texts are apart.
Given = Callable[[str, str], float]
# Rounds in which workers are judged by others who weigh what they are worth.
ROUNDS = 5


@dataclass(frozen=True, eq=False)
class Work:
    """`known[task]` is the code of a known text among the answers' texts, or -1; `apart(i, j)` how far texts differ."""

    votes: Votes[Texts]
    known: I8
    apart: Callable[[I8, I8], F8]

    @property
    def text(self) -> I8:
        """The text of each row."""
        return self.votes.answers.text

    @cached_property
    def row_weight(self) -> F8:
        """Weights of the rows themselves."""
        return np.ones(len(self.votes)) if self.votes.weight is None else np.asarray(self.votes.weight)

    @cached_property
    def pairs(self) -> tuple[I8, I8, F8]:
        """Rows of one task, two by two, and how far they are apart."""
        i, j = pairs_within(self.votes.task_offsets)
        return i, j, self.apart(self.text[i], self.text[j])

    def off(self, weight: F8) -> F8:
        """How far each row is from the others of its task; from the truth where it is known."""
        i, j, apart = self.pairs
        n = len(self.votes)
        w = self.row_weight * weight[self.votes.worker]
        total = np.bincount(i, weights=w[j] * apart, minlength=n)
        size = np.bincount(i, weights=w[j], minlength=n)
        out = np.divide(total, size, out=np.zeros(n), where=size > 0)
        told = self.known[self.votes.task]
        at = np.flatnonzero(told >= 0)
        out[at] = self.apart(self.text[at], told[at])
        return np.asarray(out)

    def errors(self, off: F8) -> F8:
        """Each worker's mean distance, a little of the crowd's mixed in; rows that stand alone do not count."""
        use = (self.votes.labels_per_task[self.votes.task] > 1) | (self.known[self.votes.task] >= 0)
        m = self.votes.n_workers
        mean = float(off[use].mean()) if use.any() else 0.0
        total = np.bincount(self.votes.worker[use], weights=off[use], minlength=m) + PSEUDO * mean
        return np.asarray(total / (np.bincount(self.votes.worker[use], minlength=m) + PSEUDO))

    def weights(self, power: float) -> F8:
        """Weights of workers that fall with their distance from the others, each by their own weight, in rounds."""
        weight = np.ones(self.votes.n_workers)
        for _ in range(ROUNDS):
            weight = weights_of(self.errors(self.off(weight)), power)
        return weight

    def nearest(self, weight: F8) -> tuple[I8, F8]:
        """(row in the middle of each task or -1, distance of each row from the others)."""
        off = self.off(weight)
        return middle(self.votes.task_offsets, off, weight[self.votes.worker], self.text), off


def distance_of(answers: Texts, name: str, given: Given | None) -> Callable[[I8, I8], F8]:
    """words, characters, gleu, or a function of two texts."""
    if given is not None:
        return _given(answers, given)
    if name == "gleu":
        return lambda i, j: 1 - gleu(answers.mark_runs, i, j)
    if name == "characters":
        runs = letter_runs(answers.texts.to_list())
        return lambda i, j: edit_distance(runs, i, j)
    return lambda i, j: edit_distance(answers.word_runs, i, j)


def _given(answers: Texts, given: Given) -> Callable[[I8, I8], F8]:
    texts = answers.texts.to_list()

    def apart(i: I8, j: I8) -> F8:
        both = np.stack([np.minimum(i, j), np.maximum(i, j)], axis=1)
        pairs, back = np.unique(both, axis=0, return_inverse=True)
        out = np.array([float(given(texts[a], texts[b])) for a, b in pairs.tolist()])
        if not np.isfinite(out).all() or (out < 0).any():
            bad = int(np.flatnonzero(~np.isfinite(out) | (out < 0))[0])
            raise DataError(f"the distance given is {out[bad]} for two texts; it must be a number from 0 up")
        return np.asarray(out[back.ravel()]) if len(out) else np.zeros(len(i))

    return apart


def usual_distance(work: Work) -> float:
    """The median distance of two answers to one task; 0 where no task has two."""
    apart = work.pairs[2]
    return float(np.median(apart)) if len(apart) else 0.0


# ----------------------------------------------------------------
# What every method for texts shares: checks, gold, weights of workers, the Result.

BASE_F8 = npt.NDArray[np.float64]
BASE_I8 = npt.NDArray[np.int64]
DistanceName = Literal["words", "characters", "gleu"]


@dataclass(frozen=True, eq=False)
class Said:
    """The text of each task, how sure it is, and of a vote by words the share of each word."""

    outputs: list[str]
    sure: BASE_F8
    n_words: BASE_I8 | None = None
    word_sure: BASE_F8 = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, kw_only=True)
class TextAggregator(Method):
    """A method for texts: weights of workers, and what the answers say by them."""

    takes: ClassVar[str] = "texts"

    def fit(
        self,
        votes: Votes[Texts] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,  # noqa: ARG002
        distance: Given | None = None,
        calibrate: bool | None = None,
    ) -> Result:
        """Texts of these votes, or of a table task, worker, output.

        `gold` is the known text of some tasks (a mapping or a table task, output): it stays put and teaches.
        `distance(a, b)`, any function of two texts (from 0 up), replaces the method's own. `calibrate` corrects
        the confidence by gold; the default method does so unless it is False.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        given = as_texts(votes)
        votes, known = text_gold(gold, given)
        work = Work(votes, known, distance_of(votes.answers, self.distance_name(votes), distance))
        weight, reason = self.learn(work)
        said = self.judge(work, weight)
        result = self._result(work, weight, said, reason, gold is not None)
        return checked(self, result, given, gold) if wanted(self, gold, calibrate) else result

    def distance_name(self, votes: Votes[Texts]) -> str:  # noqa: ARG002
        """How answers are compared."""
        return "words"

    def learn(self, work: Work) -> tuple[BASE_F8, str]:
        """Weights of the workers, and what was chosen; all alike unless a method says."""
        return np.ones(work.votes.n_workers), ""

    @abstractmethod
    def judge(self, work: Work, weight: BASE_F8) -> Said:
        """What the answers say, by workers with these weights."""

    def _result(self, work: Work, weight: BASE_F8, said: Said, reason: str, told: bool) -> Result:
        votes = work.votes
        estimate = estimate_of(said, work)
        extra: dict[str, Any] = {"worker_weight": weight} | ({"reason": reason} if reason else {})
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=estimate,
            picture=picture_of(work, weight, estimate),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=(work.known >= 0) if told else None,
            extra=extra,
            versions=versions(),
        )


def estimate_of(said: Said, work: Work) -> TextEstimate:
    """The texts, known ones in their place."""
    known = work.known
    texts = work.votes.answers.texts.to_list()
    outputs = [texts[code] if code >= 0 else text for text, code in zip(said.outputs, known.tolist(), strict=True)]
    n_words = np.zeros(len(outputs), dtype=np.int64) if said.n_words is None else said.n_words
    keep = np.repeat(known < 0, n_words)
    column = pl.Series("text", outputs, dtype=pl.String)
    every = column.unique().sort() if len(column) else pl.Series("text", [""], dtype=pl.String)
    return TextEstimate(
        text=lookup(every, column)[0].astype(np.int64),
        sure=np.clip(np.where(known >= 0, 1.0, said.sure), 0.0, 1.0),
        n_words=np.where(known < 0, n_words, 0).astype(np.int64),
        word_sure=np.clip(said.word_sure[keep], 0.0, 1.0),
        texts=every,
    )


def picture_of(work: Work, weight: BASE_F8, estimate: TextEstimate) -> TextWorkers:
    """How far each worker is from the others and from the estimates, in words."""
    votes = work.votes
    plain = replace(work, apart=distance_of(votes.answers, "words", None))
    heard = votes.labels_per_worker > 0
    both = votes.answers.join(Texts(estimate.text, estimate.texts.cast(pl.String)))
    n = len(votes)
    off = edit_distance(both.word_runs, both.text[:n], both.text[n + votes.task.astype(np.int64)])
    mean = np.bincount(votes.worker, weights=off, minlength=votes.n_workers) / np.maximum(votes.labels_per_worker, 1)
    return TextWorkers(
        error=np.where(heard, np.clip(plain.errors(plain.off(np.ones(votes.n_workers))), 0, 1), np.nan),
        off=np.where(heard, mean, np.nan),
        weight=np.where(heard, weight, 0.0),
    )


def text_truth(truth: Any) -> pl.DataFrame:
    """Any way to write down truths as a table task, output."""
    table = truth_table(truth, ("output",), like=("label", "text"))
    return table.with_columns(pl.col("output").cast(pl.String))


def text_gold(gold: Any, votes: Votes[Texts]) -> tuple[Votes[Texts], BASE_I8]:
    """The votes over the texts of both, and known[task]: the code of its text, or -1."""
    known = np.full(votes.n_tasks, -1, dtype=np.int64)
    if gold is None:
        return votes, known
    table = text_truth(gold)
    at, placed = place_gold(table, votes.tasks)
    texts = union(votes.answers.texts, table["output"].rename("text"))
    code = lookup(texts, votes.answers.texts)[0].astype(np.int64)[votes.answers.text]
    known[at[placed]] = lookup(texts, table["output"])[0].astype(np.int64)[placed]
    return replace(votes, answers=Texts(code, texts)), known


def as_texts(votes: Any) -> Votes[Texts]:
    """Votes of texts as they are, a table task, worker, output as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Texts):
            return votes
        raise DataError(
            f"texts are needed, got {votes.kind.people}; read the file with kind='texts' (--kind texts), or take a "
            "method for these"
        )
    if isinstance(votes, str | Path):
        raise DataError(f"votes are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
    if isinstance(votes, np.ndarray | list | tuple):
        raise DataError("votes are needed; three columns go through cw.text_votes(task, worker, output)")
    frame = to_polars(votes)
    picked, _ = pick(frame, dict(told_by(frame.columns) or {}), "the frame", (), ("task", "worker", "output"))
    return text_votes(picked.pop("task"), picked.pop("worker"), picked.pop("output"), **picked)


# ----------------------------------------------------------------
# The two ways to a text: one of the answers, or a vote word by word.


def picked(work: Work, weight: F8) -> Said:
    """The answer nearest to the others; sure as it is close to them."""
    row, off = work.nearest(weight)
    texts, has = work.votes.answers.texts.to_list(), row >= 0
    outputs = [texts[work.text[r]] if r >= 0 else "" for r in row.tolist()]
    sure = np.zeros(len(row))
    sure[has] = 1 - np.clip(off[row[has]], 0.0, 1.0)
    return Said(outputs, sure)


def by_words(work: Work, weight: F8) -> Said:
    """ROVER: answers aligned one after the other, the one nearest to the others first, and a vote on every place."""
    votes = work.votes
    _, off = work.nearest(weight)
    own = weight[votes.worker]
    order = np.lexsort((work.text, -np.round(own, 12), np.round(off, 12), votes.task))
    all_runs = votes.answers.word_runs
    count = all_runs.size[work.text]
    offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    first = np.repeat(all_runs.offsets[:-1][work.text] - offsets[:-1], count)
    runs = Runs(offsets, all_runs.word[first + np.arange(int(offsets[-1]))])
    at, row, place, share = voted_words(votes.task_offsets, order, runs, work.row_weight * np.maximum(own, 1e-9))
    texts = votes.answers.texts.to_list()
    parts: dict[int, list[str]] = {}
    words = []
    for code, k in zip(work.text[row].tolist(), place.tolist(), strict=True):
        if code not in parts:
            parts[code] = written(texts[code])
        words.append(parts[code][k])
    ends = at.tolist()
    outputs = [put_together(words[a:b]) for a, b in itertools.pairwise(ends)]
    n = np.diff(at)
    task = np.repeat(np.arange(len(n)), n)
    total = np.bincount(task, weights=share, minlength=len(n))
    sure = np.divide(total, n, out=np.where(votes.labels_per_task > 0, 1.0, 0.0), where=n > 0)
    return Said(outputs, sure, n.astype(np.int64), share)


# ----------------------------------------------------------------
# Texts as decisions: one is right where it has the words of the known text.

DECISIONS_F8 = npt.NDArray[np.float64]
DECISIONS_I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("texts", "to the word", _texts, _right, _apply)


def _own(result: Result) -> TextEstimate:
    assert isinstance(result.estimate, TextEstimate)
    return result.estimate


def _texts(result: Result) -> tuple[DECISIONS_I8, DECISIONS_F8]:
    own = _own(result)
    return np.arange(len(own)), own.sure


def _right(votes: Votes[Texts], result: Result, gold: Any) -> DECISIONS_F8:
    table = text_truth(gold)
    at, placed = place_gold(table, votes.tasks)
    rows = np.flatnonzero(placed)
    task, n = at[rows].astype(np.int64), len(rows)
    outputs = _own(result).outputs
    runs = word_runs([outputs[t] for t in task.tolist()] + table["output"].gather(rows.tolist()).to_list())
    out = np.full(votes.n_tasks, np.nan)
    out[task] = edit_counts(runs, np.arange(n), n + np.arange(n)) == 0
    return out


def _apply(estimate: TextEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> TextEstimate:
    del parts
    return replace(estimate, sure=np.where(kept, estimate.sure, learnt.of(estimate.sure)))


# ----------------------------------------------------------------
# What a fit of texts has learnt, ready to judge other answers of the same workers.


@dataclass(frozen=True, eq=False)
class TextModel(Model[Votes[Texts]]):
    """The method and the weights of its workers; votes have the workers of the fit, by code."""

    method: Any
    weight: npt.NDArray[np.float64]

    def work(self, votes: Votes[Texts]) -> Work:
        """The votes made ready."""
        votes, known = text_gold(None, votes)
        return Work(votes, known, distance_of(votes.answers, self.method.distance_name(votes), None))

    def posterior(self, votes: Votes[Texts]) -> TextEstimate:
        """The text of every task."""
        work = self.work(votes)
        return estimate_of(self.method.judge(work, self.weight), work)


def model_of(result: Result) -> TextModel:
    """The model behind a result."""
    if "worker_weight" not in result.extra:
        raise DataError(f"what {result.method} has learnt is not in this result; fit again")
    fields = registry.get(result.method).__dataclass_fields__
    known: dict[str, Any] = {name: value for name, value in result.params.items() if name in fields}
    if str(result.extra.get("reason", "")).startswith("the answer in the middle"):
        known["choose"] = "answers"  # what was chosen stays so, whatever the new answers look like
    elif "choose" in fields:
        known["choose"] = "words"
    return TextModel(registry.method(result.method, **known), np.asarray(result.extra["worker_weight"]))


def infer(result: Result, votes: Votes[Texts], unknown_workers: Policy) -> Result:
    """What the same workers' answers say of other tasks."""
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    model = result.model
    assert isinstance(model, TextModel)
    usual = float(np.average(model.weight, weights=np.maximum(result.labels_per_worker, 1e-9)))
    weight = np.where(known, model.weight[old], usual)
    model = replace(model, weight=weight)
    estimate = model.posterior(votes)
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=estimate,
        picture=picture_of(model.work(votes), weight, estimate),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
        extra={},
    )
