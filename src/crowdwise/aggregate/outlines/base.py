"""What every method for outlines shares: pixels of each picture, gold, workers, outlines again, the Result."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError, ParameterError
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.params import Count
from ...core.result import Result, versions
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.outlines.answers import Outlines, outline_votes, told_by
from ...kinds.outlines.estimate import OutlineEstimate, OutlineWorkers
from ...maths.outlines.masks import Mask, overlap
from ...maths.outlines.raster import fill_even_odd, grid, trace
from .. import registry
from ..decisions.checked import checked, wanted
from ..method import Method
from ..strangers import Policy, refuse_strangers
from .gold import known as known_outlines

F8 = npt.NDArray[np.float64]
# What each worker's vote weighs, among the arrays of a Result.
TRUST = "worker_weight"


@dataclass(frozen=True, eq=False)
class Looked:
    """What a method makes of one picture: which pixels are in, and (NaN: not known) the workers' rates over pixels."""

    inside: Mask
    sensitivity: F8
    specificity: F8


@dataclass(frozen=True, kw_only=True)
class OutlineAggregator(Method):
    """A method for outlines. Each picture is cut into at most `pixels` pixels over what was drawn on it; what the
    method takes for inside is traced as outlines again."""

    takes: ClassVar[str] = "outlines"
    pixels: Count = 40_000

    def fit(
        self,
        votes: Votes[Outlines] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,  # noqa: ARG002
        calibrate: bool | None = None,
    ) -> Result:
        """The outline of each picture in these votes, or in a table task, worker, outlines; known ones stay put.

        `calibrate` learns from gold how many pictures are right; the default method does so unless it is False.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_outlines(votes)
        told: dict[int, list[F8]] = {}
        if gold is not None:
            tasks, outlines = known_outlines(votes, gold)
            told = {int(task): outlines.of_row(i) for i, task in enumerate(tasks.tolist())}
        result = self.judged(votes, self.trust(votes, told), told if gold is not None else None)
        return checked(self, result, votes, gold) if wanted(self, gold, calibrate) else result

    def judged(self, votes: Votes[Outlines], trust: F8 | None, told: dict[int, list[F8]] | None = None) -> Result:
        """All pictures, by workers whose votes weigh `trust` (None: all alike)."""
        sums = _Sums(votes.n_workers)
        found: list[list[F8]] = []
        agreement = np.full(votes.n_tasks, np.nan)
        weight = np.ones(len(votes)) if votes.weight is None else np.asarray(votes.weight, dtype=np.float64)
        if trust is not None:
            weight = weight * trust[votes.worker]
        for task in range(votes.n_tasks):
            shapes, agreement[task] = self._picture(votes, weight, task, (told or {}).get(task), sums)
            found.append(shapes)
        return self._result(votes, found, agreement, sums, told, {} if trust is None else {TRUST: trust})

    def trust(self, votes: Votes[Outlines], told: dict[int, list[F8]]) -> F8 | None:  # noqa: ARG002
        """What each worker's vote weighs over all pictures; None where each picture is judged by itself."""
        return None

    @abstractmethod
    def combine(self, masks: Mask, weight: F8) -> Looked:
        """One picture: masks[worker, pixel]."""

    def _picture(
        self, votes: Votes[Outlines], every: F8, task: int, truth: list[F8] | None, sums: _Sums
    ) -> tuple[list[F8], float]:
        rows = np.arange(votes.task_offsets[task], votes.task_offsets[task + 1])
        rows = rows[every[rows] > 0]
        weight = every[rows]
        drawn = [votes.answers.of_row(int(row)) for row in rows]
        x, y = grid([*(p for each in drawn for p in each), *(truth or [])], self.pixels)
        if not len(rows) or not len(x):
            return truth or [], 1.0 if len(rows) and not truth else np.nan
        masks = np.array([fill_even_odd(each, x, y).ravel() for each in drawn])
        look = self.combine(masks, weight)
        inside = look.inside if truth is None else fill_even_odd(truth, x, y).ravel()
        for i, row in enumerate(rows.tolist()):
            others = inside
            if truth is None and len(rows) > 1:
                rest = np.arange(len(rows)) != i
                others = self.combine(masks[rest], weight[rest]).inside
            if truth is not None or len(rows) > 1:
                sums.add(int(votes.worker[row]), overlap(masks[i], others), look.sensitivity[i], look.specificity[i])
        shapes = truth if truth is not None else trace(inside.reshape(len(y), len(x)), x, y)
        return shapes, float(np.mean([overlap(mask, inside) for mask in masks]))

    def _result(
        self,
        votes: Votes[Outlines],
        found: list[list[F8]],
        agreement: F8,
        sums: _Sums,
        told: dict[int, Any] | None,
        extra: dict[str, Any],
    ) -> Result:
        flat = [points for shapes in found for points in shapes]
        gold = None
        if told is not None:
            gold = np.zeros(votes.n_tasks, dtype=bool)
            gold[list(told)] = True
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=OutlineEstimate(
                n_outlines=np.array([len(shapes) for shapes in found], dtype=np.int64),
                length=np.array([len(points) for points in flat], dtype=np.int64),
                point=np.concatenate(flat) if flat else np.empty((0, 2)),
                agreement=agreement,
            ),
            picture=sums.picture(),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=gold,
            extra=extra,
            versions=versions(),
        )


class _Sums:
    """What is seen of each worker, picture by picture."""

    def __init__(self, n_workers: int) -> None:
        self.seen: list[list[float]] = [[] for _ in range(n_workers)]
        self.rates = np.zeros((n_workers, 2))

    def add(self, worker: int, iou: float, sensitivity: float, specificity: float) -> None:
        """One picture of a worker."""
        self.seen[worker].append(iou)
        self.rates[worker] += (sensitivity, specificity)

    def picture(self) -> OutlineWorkers:
        """Means, with intervals by the spread over pictures (at least .1, so that two pictures are not a certainty)."""
        n = np.array([len(each) for each in self.seen])
        mean = np.array([np.mean(each) if each else np.nan for each in self.seen])
        sd = np.array([max(float(np.std(each)), 0.1) if each else np.nan for each in self.seen])
        wide = 1.96 * sd / np.sqrt(np.maximum(n, 1))
        value, low, high = (np.clip(each, 0.0, 1.0) for each in (mean, mean - wide, mean + wide))
        rates = np.where(n[:, None] > 0, self.rates / np.maximum(n, 1)[:, None], np.nan)
        return OutlineWorkers(value, low, high, rates[:, 0], rates[:, 1])


def said(votes: Votes[Outlines], result: Result) -> Outlines:  # noqa: ARG001
    """The outlines of every picture."""
    own = result.estimate
    assert isinstance(own, OutlineEstimate)
    return own.answers


def infer(result: Result, votes: Votes[Outlines], unknown_workers: Policy) -> Result:
    """Other pictures of the same workers, by the same method and its trust in them; strangers have the mean."""
    votes = as_outlines(votes)
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    method: OutlineAggregator = registry.method(result.method, **result.params)
    trust = result.extra.get(TRUST)
    if trust is not None:
        trust = np.where(known, np.asarray(trust)[old], np.mean(trust))
    found = method.judged(votes, trust)
    parts = {name: np.where(known, values[old], np.nan) for name, values in result.picture.arrays().items()}
    return replace(found, picture=OutlineWorkers(**parts))


def as_outlines(votes: Any) -> Votes[Outlines]:
    """Votes as they are, a table task, worker, outlines as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Outlines):
            return votes
        raise DataError(
            f"outlines are needed, got {votes.kind.people}; read the file with kind='outlines' (--kind outlines), or "
            "take a method for these"
        )
    if isinstance(votes, str | np.ndarray | list | tuple) or not hasattr(votes, "__len__"):
        raise DataError("votes are needed; columns go through cw.outline_votes(task, worker, outlines)")
    frame = to_polars(votes)
    picked, _ = pick(frame, dict(told_by(frame.columns) or {}), "the frame", (), ("task", "worker", "outlines"))
    return outline_votes(picked.pop("task"), picked.pop("worker"), picked.pop("outlines"), **picked)
