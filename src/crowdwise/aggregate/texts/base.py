"""What every method for texts shares: checks, gold, weights of workers, the Result."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.result import Result, versions
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, union
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.texts.answers import Texts
from ...kinds.texts.estimate import TextEstimate, TextWorkers
from ...kinds.texts.votes import text_votes, told_by
from ...maths.texts.runs import edit_distance
from ..decisions.checked import checked, wanted
from ..method import Method
from .work import Given, Work, distance_of

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
DistanceName = Literal["words", "characters", "gleu"]


@dataclass(frozen=True, eq=False)
class Said:
    """The text of each task, how sure it is, and of a vote by words the share of each word."""

    outputs: list[str]
    sure: F8
    n_words: I8 | None = None
    word_sure: F8 = field(default_factory=lambda: np.empty(0))


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

    def learn(self, work: Work) -> tuple[F8, str]:
        """Weights of the workers, and what was chosen; all alike unless a method says."""
        return np.ones(work.votes.n_workers), ""

    @abstractmethod
    def judge(self, work: Work, weight: F8) -> Said:
        """What the answers say, by workers with these weights."""

    def _result(self, work: Work, weight: F8, said: Said, reason: str, told: bool) -> Result:
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


def picture_of(work: Work, weight: F8, estimate: TextEstimate) -> TextWorkers:
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


def text_gold(gold: Any, votes: Votes[Texts]) -> tuple[Votes[Texts], I8]:
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
