"""Known outlines of some pictures."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core import method_registry as registry
from ...core.callback import Callback
from ...core.errors import DataError, ParameterError
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.method import Method
from ...core.params import Count
from ...core.result import Result, versions
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...evaluation.calibration import Decided, checked, wanted
from ...stats.gold_calibration import GoldCalibration
from ..boxes.maths import iou
from ..classes.methods.infer import Policy, refuse_strangers
from .answers import OutlineCoder, Outlines, outline_votes, told_by
from .estimate import OutlineEstimate, OutlineWorkers
from .maths import Mask, beside_others, fill_even_odd, grid, overlap, patterns, trace


def outline_truth(truth: Any) -> tuple[pl.Series, Outlines]:
    """Any way to write down the outlines of pictures: the tasks, and their outlines."""
    if isinstance(truth, dict):
        texts = OutlineCoder({"outlines": list(truth.values())}).texts
        truth = pl.DataFrame({"task": pl.Series(list(truth)), "outlines": texts})
    table = truth_table(truth, ("outlines",), like=("label",))
    try:
        return table["task"], OutlineCoder({"outlines": table["outlines"]}).finish()
    except DataError as error:
        raise DataError(f"the truth: {error}") from None


def known(votes: Votes[Outlines], gold: Any) -> tuple[npt.NDArray[np.int64], Outlines]:
    """Codes of the known pictures, and their outlines."""
    names, outlines = outline_truth(gold)
    task, there = place_gold(names.to_frame("task"), votes.tasks)
    rows = np.flatnonzero(there)
    return task[rows].astype(np.int64), outlines.take(rows)


# ----------------------------------------------------------------
# What every method for outlines shares: pixels of each picture, gold, workers, outlines again, the Result.

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
            tasks, outlines = known(votes, gold)
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


# ----------------------------------------------------------------
# Outlines as decisions: those of a picture are right where they overlap the known ones by half.

I8 = npt.NDArray[np.int64]
DecisionsMask = npt.NDArray[np.bool_]
# The least IoU with the known outlines, and the pixels that a picture is compared on.
OVERLAP, PIXELS = 0.5, 40_000


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("pictures", "with an IoU of .5 or more with the known outlines", _pictures, _right, _apply)


def _own(result: Result) -> OutlineEstimate:
    assert isinstance(result.estimate, OutlineEstimate)
    return result.estimate


def _pictures(result: Result) -> tuple[I8, F8]:
    own = _own(result)
    return np.arange(len(own)), np.nan_to_num(own.agreement, nan=0.5)


def _right(votes: Votes[Outlines], result: Result, gold: Any) -> F8:
    own, out = _own(result), np.full(votes.n_tasks, np.nan)
    task, theirs = known(votes, gold)
    for i, t in enumerate(task.tolist()):
        one, two = own.answers.of_row(t), theirs.of_row(i)
        x, y = grid([*one, *two], PIXELS)
        out[t] = overlap(fill_even_odd(one, x, y).ravel(), fill_even_odd(two, x, y).ravel()) >= OVERLAP
    return out


def _apply(estimate: OutlineEstimate, learnt: GoldCalibration, kept: DecisionsMask, parts: Any) -> OutlineEstimate:
    """`agreement` is a measured overlap, no probability: it stays."""
    del learnt, kept, parts
    return estimate


# ----------------------------------------------------------------
# What a worker's masks are worth, over all their pictures.

# Rounds in which workers are judged by a vote in which the others weigh what they are worth.
ROUNDS = 3
# Pictures' worth of the crowd's own mean that stand beside each worker's.
PSEUDO = 1.0
# An overlap is known well enough from so many pixels.
ENOUGH = 10_000
# So much of the way from the usual worker to one who always draws the same place is luck. Settled on planted crowds.
LUCK = 0.3
# Where the usual worker nearly always draws the same place, as things lie there, nobody stands out by it.
NARROW = 0.25
# A worker's pictures are held against so many others of theirs.
LAGS = 10


def trust_by_overlap(votes: Votes[Outlines], told: dict[int, list[F8]], pixels: int, power: float) -> F8:
    """weight[worker]: the mean IoU of their masks with the vote of the others (or with what is told), to the power.

    Pictures on which neither a worker nor the others have anything say nothing. Who always draws the same place agrees
    with others who do, and has seen nothing: their IoU counts for less.
    """
    looks = by_picture(votes)
    seen = [_seen(votes, task, told.get(task), min(pixels, ENOUGH)) for task in range(votes.n_tasks)]
    weight = looks**power
    for _ in range(ROUNDS):
        total, n = np.zeros(votes.n_workers), np.zeros(votes.n_workers)
        for worker, each, said, count, truth in seen:
            found = beside_others(said, count, each * weight[worker], truth)
            heard = np.isfinite(found)
            np.add.at(total, worker[heard], found[heard])
            np.add.at(n, worker[heard], 1.0)
        if not n.sum():
            return weight
        mean = (total + PSEUDO * total.sum() / n.sum()) / (n + PSEUDO)
        weight = np.maximum(mean * looks, 1e-6) ** power
    return weight


def by_picture(votes: Votes[Outlines]) -> F8:
    """[worker]: 1, or less the nearer they are to drawing the same place on every picture.

    The IoU of the boxes round what a worker drew on different pictures, beside that of the usual worker: things that
    always lie in the middle are there for all.
    """
    box, worker = _boxes(votes)
    order = np.argsort(worker, kind="stable")
    total, n = np.zeros(votes.n_workers), np.zeros(votes.n_workers)
    for lag in range(1, LAGS + 1):
        i, j = order[:-lag], order[lag:]
        i, j = (each[worker[i] == worker[j]] for each in (i, j))
        np.add.at(total, worker[i], iou(box[i], box[j]))
        np.add.at(n, worker[i], 1.0)
    if (n > 0).sum() < 3:
        return np.ones(votes.n_workers)
    usual = float(np.median(total[n > 0] / n[n > 0]))
    far = ((total + PSEUDO * usual) / (n + PSEUDO) - usual) / max(1 - usual, NARROW)
    return np.asarray(np.clip(1 - (far - LUCK) / (1 - LUCK), 1e-2, 1.0))


def _boxes(votes: Votes[Outlines]) -> tuple[F8, npt.NDArray[np.int32]]:
    """The box (left, top, right, bottom) round what each row drew, and its worker; rows without anything left out."""
    rows, found = [], []
    for row in range(len(votes)):
        shapes = votes.answers.of_row(row)
        if shapes:
            points = np.concatenate(shapes)
            rows.append(row)
            found.append([*points.min(axis=0), *points.max(axis=0)])
    return np.array(found, dtype=np.float64).reshape(len(rows), 4), votes.worker[np.array(rows, dtype=np.int64)]


def _seen(
    votes: Votes[Outlines], task: int, truth: list[F8] | None, pixels: int
) -> tuple[npt.NDArray[np.int32], F8, F8, F8, F8 | None]:
    """(worker of each row, weight of each row, said[row, pattern], pixels of each pattern, the truth's patterns)."""
    rows = np.arange(votes.task_offsets[task], votes.task_offsets[task + 1])
    each = np.ones(len(rows)) if votes.weight is None else votes.weight[rows]
    rows, each = rows[each > 0], each[each > 0]
    drawn = [votes.answers.of_row(int(row)) for row in rows]
    x, y = grid([*(p for some in drawn for p in some), *(truth or [])], pixels)
    worker = votes.worker[rows]
    if not len(rows) or not len(x):
        return worker, each, np.zeros((len(rows), 0)), np.zeros(0), None
    given = drawn if truth is None else [*drawn, truth]
    said, count, _ = patterns(np.array([fill_even_odd(some, x, y).ravel() for some in given]))
    return (worker, each, said, count, None) if truth is None else (worker, each, said[:-1], count, said[-1])
