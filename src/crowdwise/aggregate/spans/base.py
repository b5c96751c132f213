"""What every method for spans shares: checks, gold, layers of tags that overlap, spans with confidence, the Result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.result import Result, versions
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.spans.answers import Spans
from ...kinds.spans.votes import span_votes, told_by
from ...maths.spans.rows import nested
from ...maths.spans.units import Units
from ..decisions.checked import checked, wanted
from ..method import Method
from .found import Judged, estimate_of, picture_of
from .gold import span_gold
from .work import Known, Work, cut, has_all_texts, layer, usual_length

F8 = npt.NDArray[np.float64]
Arrays = Mapping[str, npt.NDArray[Any]]
# Arrays of what was learnt whose first axis is the workers begin like this.
BY_WORKER = "worker_"


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a method has learnt of one layer, and how it got there; `reason` says what it chose, where it did."""

    arrays: dict[str, npt.NDArray[Any]]
    trace: F8 = field(default_factory=lambda: np.empty(0))
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
    from .work import LONG

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
