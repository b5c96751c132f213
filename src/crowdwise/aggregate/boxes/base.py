"""What every method for boxes shares: checks, gold, which objects are kept, the workers' picture, the Result."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.params import Share
from ...core.result import Result, versions
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.boxes.answers import Boxes, box_votes, told_by
from ...kinds.boxes.estimate import BoxEstimate, BoxWorkers
from ...maths.boxes.drawn import Drawn, drawn
from ...maths.boxes.objects import Objects, taught
from ...maths.boxes.tally import rate, tally
from ..decisions.checked import checked, wanted
from ..method import Method
from .gold import box_gold

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Found:
    """What a method made of the boxes: objects, which of them are kept, and the workers' biases if it knows them."""

    objects: Objects
    kept: Mask
    bias: F8 | None = None
    spread: F8 | None = None
    n_iter: int = 0
    converged: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BoxAggregator(Method):
    """A method for boxes: boxes that mean one object are put together, and objects that more than `share` of those who
    looked at the picture drew are kept. `overlap` is the least IoU of boxes that can mean the same."""

    takes: ClassVar[str] = "boxes"
    overlap: Share = 0.3
    share: Share = 0.5

    def fit(
        self,
        votes: Votes[Boxes] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,  # noqa: ARG002
        calibrate: bool | None = None,
    ) -> Result:
        """The boxes of each picture in these votes, or in a table task, worker, boxes.

        `gold` is the known boxes of some pictures (a mapping or a table task, boxes): they stay put, and workers are
        judged by them. `calibrate` adds the chance that a box is right, learnt on gold; the default method does so
        unless it is False.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_boxes(votes)
        truth, tags, told = box_gold(gold, votes)
        seen = drawn_in(votes)
        found = self.objects(seen)
        if truth is not None:
            found = taught(seen, found, truth)
        solved = self.solve(seen, found)
        self.warn_unless_settled(solved.converged, solved.n_iter)
        result = self._result(votes, seen, solved, tags, told)
        return checked(self, result, votes, gold) if wanted(self, gold, calibrate) else result

    @abstractmethod
    def objects(self, seen: Drawn) -> Objects:
        """Which boxes mean the same object."""

    def solve(self, seen: Drawn, found: Objects) -> Found:  # noqa: ARG002
        """Which objects are kept, and their corners."""
        return Found(found, found.kept(self.share))

    def _result(self, votes: Votes[Boxes], seen: Drawn, solved: Found, tags: pl.Series, told: Mask | None) -> Result:
        counts = tally(seen, solved.objects, self.share)
        recall, precision = rate(counts.drew, counts.there), rate(counts.drew, counts.drew + counts.spurious)
        picture = BoxWorkers(
            counts.there, counts.drew, counts.spurious, *recall, *precision, counts.overlap, solved.bias, solved.spread
        )
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=estimate_of(solved, votes.n_tasks, tags),
            picture=picture,
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=told,
            n_iter=solved.n_iter,
            converged=solved.converged,
            extra=solved.extra,
            versions=versions(),
        )


def estimate_of(solved: Found, n_tasks: int, tags: pl.Series) -> BoxEstimate:
    """The kept objects, picture by picture, from left to right."""
    found = solved.objects
    some = np.flatnonzero(solved.kept)
    order = some[np.lexsort((found.tag[some], *found.corner[some].T[::-1], found.task[some]))]
    return BoxEstimate(
        n_boxes=np.bincount(found.task[order], minlength=n_tasks),
        corner=found.corner[order],
        tag=found.tag[order],
        support=found.share[order],
        tags=tags,
    )


def drawn_in(votes: Votes[Boxes]) -> Drawn:
    """The boxes of these votes for the maths; rows of weight 0 are absent."""
    if votes.weight is not None and not (votes.weight > 0).all():
        votes = votes.take(votes.weight > 0)
    own = votes.answers
    return drawn(
        own.corner, own.tag, own.size, votes.task, votes.worker, votes.weight, votes.n_tasks, votes.n_workers
    )  # fmt: skip


def as_boxes(votes: Any) -> Votes[Boxes]:
    """Votes of boxes as they are, a table task, worker, boxes as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Boxes):
            return votes
        raise DataError(
            f"boxes are needed, got {votes.kind.people}; read the file with kind='boxes' (--kind boxes), or take a "
            "method for these"
        )
    if isinstance(votes, str | Path):
        raise DataError(f"votes are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
    if isinstance(votes, np.ndarray | list | tuple):
        raise DataError("votes are needed; three columns go through cw.box_votes(task, worker, boxes)")
    frame = to_polars(votes)
    picked, _ = pick(frame, dict(told_by(frame.columns) or {}), "the frame", (), ("task", "worker", "boxes"))
    return box_votes(picked.pop("task"), picked.pop("worker"), picked.pop("boxes"), **picked)
