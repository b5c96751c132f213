"""Base class of the methods for outlines: input checks, gold, pixels, worker weights and inference on new tasks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core import method_registry as registry
from ...core.arrays import F8, I8, Mask
from ...core.method import FitOptions, FitOutput, Method
from ...core.params import Count
from ...core.result import Result, UnknownWorkers
from ...core.truth import answers_truth, place_answers
from ...core.votes import Votes
from ...evaluation.calibration import DecisionHooks
from ...stats.gold_calibration import GoldCalibration
from ..boxes.maths import iou
from .answers import OutlineCoder, Outlines
from .estimate import OutlineEstimate, OutlineWorkers
from .maths import fill_even_odd, grid, iou_with_others, overlap, patterns, trace

# Key of the worker weights among the extra arrays of a result.
WORKER_WEIGHT = "worker_weight"


def outline_truth(truth: Any) -> tuple[pl.Series, Outlines]:
    """Return the tasks of a truth, given as a mapping or a table, and their outlines."""
    return answers_truth(truth, "outlines", OutlineCoder)


def gold_answers(votes: Votes[Outlines], gold: Any) -> tuple[I8, Outlines]:
    """Return the codes of the gold tasks and their outlines."""
    return place_answers(*outline_truth(gold), votes.tasks)


# ----------------------------------------------------------------
# The base class of the methods.


@dataclass(frozen=True, eq=False)
class MaskEstimate:
    """Estimate of one image: the pixels inside, and the workers' rates over pixels (NaN if the method has none)."""

    inside: Mask
    sensitivity: F8
    specificity: F8


@dataclass(frozen=True, kw_only=True)
class OutlineAggregator(Method):
    """Base class of the methods for outlines.

    `fit` takes votes or a table task, worker, outlines. Gold is a mapping or a table task, outlines; gold outlines are
    held fixed, and workers are scored against them. Calibration estimates on gold how many images are correct.

    The drawn area of each image is divided into pixels. The pixels that the method estimates as inside are traced as
    outlines.

    Args:
        pixels: Maximum number of pixels per image.
    """

    takes: ClassVar[str] = "outlines"
    pixels: Count = 40_000

    def fit_votes(self, votes: Votes[Outlines], gold: Any, options: FitOptions) -> FitOutput:  # noqa: ARG002
        """Weight the workers, then fit all images."""
        gold_shapes: dict[int, list[F8]] = {}
        if gold is not None:
            tasks, outlines = gold_answers(votes, gold)
            gold_shapes = {int(task): outlines.of_row(i) for i, task in enumerate(tasks.tolist())}
        return self.solve(votes, self.worker_weights(votes, gold_shapes), None if gold is None else gold_shapes)

    def solve(
        self, votes: Votes[Outlines], worker_weights: F8 | None, gold_shapes: dict[int, list[F8]] | None = None
    ) -> FitOutput:
        """Fit all images, given the weight of each worker (None: equal weights)."""
        scores = _WorkerScores(votes.n_workers)
        outlines: list[list[F8]] = []
        agreement = np.full(votes.n_tasks, np.nan)
        weight = np.ones(len(votes)) if votes.weight is None else np.asarray(votes.weight, dtype=np.float64)
        if worker_weights is not None:
            weight = weight * worker_weights[votes.worker]
        for task in range(votes.n_tasks):
            shapes, agreement[task] = self._fit_image(votes, weight, task, (gold_shapes or {}).get(task), scores)
            outlines.append(shapes)
        flat = [points for shapes in outlines for points in shapes]
        is_gold = None if gold_shapes is None else np.isin(np.arange(votes.n_tasks), list(gold_shapes))
        return FitOutput(
            estimate=OutlineEstimate(
                n_outlines=np.array([len(shapes) for shapes in outlines], dtype=np.int64),
                length=np.array([len(points) for points in flat], dtype=np.int64),
                point=np.concatenate(flat) if flat else np.empty((0, 2)),
                agreement=agreement,
            ),
            worker_summary=scores.worker_summary(),
            gold=is_gold,
            extra={} if worker_weights is None else {WORKER_WEIGHT: worker_weights},
        )

    def worker_weights(self, votes: Votes[Outlines], gold_shapes: dict[int, list[F8]]) -> F8 | None:  # noqa: ARG002
        """Return the weight of each worker over all images, or None if each image is fitted separately."""
        return None

    @abstractmethod
    def combine(self, masks: Mask, weight: F8) -> MaskEstimate:
        """Combine the masks[worker, pixel] of one image."""

    def _fit_image(
        self, votes: Votes[Outlines], row_weight: F8, task: int, truth: list[F8] | None, scores: _WorkerScores
    ) -> tuple[list[F8], float]:
        rows = np.arange(votes.task_offsets[task], votes.task_offsets[task + 1])
        rows = rows[row_weight[rows] > 0]
        weight = row_weight[rows]
        drawn = [votes.answers.of_row(int(row)) for row in rows]
        x, y = grid([*(p for outlines in drawn for p in outlines), *(truth or [])], self.pixels)
        if not len(rows) or not len(x):
            return truth or [], 1.0 if len(rows) and not truth else np.nan
        masks = np.array([fill_even_odd(outlines, x, y).ravel() for outlines in drawn])
        fit = self.combine(masks, weight)
        inside = fit.inside if truth is None else fill_even_odd(truth, x, y).ravel()
        for i, row in enumerate(rows.tolist()):
            others = inside
            if truth is None and len(rows) > 1:
                is_other = np.arange(len(rows)) != i
                others = self.combine(masks[is_other], weight[is_other]).inside
            if truth is not None or len(rows) > 1:
                scores.add(int(votes.worker[row]), overlap(masks[i], others), fit.sensitivity[i], fit.specificity[i])
        shapes = truth if truth is not None else trace(inside.reshape(len(y), len(x)), x, y)
        return shapes, float(np.mean([overlap(mask, inside) for mask in masks]))


class _WorkerScores:
    """Scores of each worker, collected image by image."""

    def __init__(self, n_workers: int) -> None:
        self.ious: list[list[float]] = [[] for _ in range(n_workers)]
        self.rates = np.zeros((n_workers, 2))

    def add(self, worker: int, iou: float, sensitivity: float, specificity: float) -> None:
        """Add one image of a worker."""
        self.ious[worker].append(iou)
        self.rates[worker] += (sensitivity, specificity)

    def worker_summary(self) -> OutlineWorkers:
        """Return the means with intervals from the spread over images.

        The standard deviation is at least .1, so that intervals from few images do not collapse.
        """
        n = np.array([len(ious) for ious in self.ious])
        mean = np.array([np.mean(ious) if ious else np.nan for ious in self.ious])
        sd = np.array([max(float(np.std(ious)), 0.1) if ious else np.nan for ious in self.ious])
        margin = 1.96 * sd / np.sqrt(np.maximum(n, 1))
        value, low, high = (np.clip(bound, 0.0, 1.0) for bound in (mean, mean - margin, mean + margin))
        rates = np.where(n[:, None] > 0, self.rates / np.maximum(n, 1)[:, None], np.nan)
        return OutlineWorkers(value, low, high, rates[:, 0], rates[:, 1])


def estimated_answers(votes: Votes[Outlines], result: Result) -> Outlines:  # noqa: ARG001
    """Return the estimated outlines as one answer per task."""
    return result.estimate_as(OutlineEstimate).answers


def infer(result: Result, votes: Votes[Outlines], unknown_workers: UnknownWorkers) -> Result:
    """Estimate the outlines of new images by the method and the worker weights of a result.

    Unknown workers get the mean weight.
    """
    old, is_known = result.worker_codes(votes.workers, unknown_workers)
    method: OutlineAggregator = registry.method(result.method, **result.params)
    weights = result.extra.get(WORKER_WEIGHT)
    if weights is not None:
        weights = np.where(is_known, np.asarray(weights)[old], np.mean(weights))
    output = method.solve(votes, weights)
    return method.result(votes, replace(output, worker_summary=result.worker_summary.select(old, is_known)))


# ----------------------------------------------------------------
# Outlines as decisions: those of an image are correct if they overlap the gold ones by half.

# Minimum IoU with the gold outlines, and the number of pixels on which an image is compared, at most.
OVERLAP, MAX_PIXELS = 0.5, 40_000


def decisions() -> DecisionHooks:
    """Return how outlines are judged right or wrong."""
    return DecisionHooks("images", "with an IoU of .5 or more with the known outlines", _images, _right, _apply)


def _images(result: Result) -> tuple[I8, F8]:
    estimate = result.estimate_as(OutlineEstimate)
    return np.arange(len(estimate)), np.nan_to_num(estimate.agreement, nan=0.5)


def _right(votes: Votes[Outlines], result: Result, gold: Any) -> F8:
    estimate, is_right = result.estimate_as(OutlineEstimate), np.full(votes.n_tasks, np.nan)
    task, gold_outlines = gold_answers(votes, gold)
    for i, t in enumerate(task.tolist()):
        estimated, truth = estimate.answers.of_row(t), gold_outlines.of_row(i)
        x, y = grid([*estimated, *truth], MAX_PIXELS)
        is_right[t] = overlap(fill_even_odd(estimated, x, y).ravel(), fill_even_odd(truth, x, y).ravel()) >= OVERLAP
    return is_right


def _apply(estimate: OutlineEstimate, calibration: GoldCalibration, keep: Mask, parts: Any) -> OutlineEstimate:
    """Return the estimate unchanged: `agreement` is a measured overlap, not a probability."""
    del calibration, keep, parts
    return estimate


# ----------------------------------------------------------------
# Worker weights over all images.

# Rounds in which workers are scored against the weighted vote of the others.
ROUNDS = 3
# Weight of the crowd's mean in each worker's mean, in images.
PSEUDO_IMAGES = 1.0
# Maximum number of pixels on which overlaps are measured for the weights.
WEIGHT_PIXELS = 10_000
# Same-place overlap up to this share of the way from the typical worker to a worker who always draws the same place is
# attributed to chance. Chosen on planted crowds.
CHANCE_EXCESS = 0.3
# Minimum distance between the typical worker and a worker who always draws the same place.
MIN_HEADROOM = 0.25
# Each image of a worker is compared with this many other images of the worker.
LAGS = 10


def weights_by_overlap(votes: Votes[Outlines], gold_shapes: dict[int, list[F8]], pixels: int, power: float) -> F8:
    """Return weight[worker]: the mean IoU of their masks with the vote of the others (or with gold), to the power.

    Images on which neither the worker nor the others marked anything are ignored. Workers who always draw the same
    place agree with each other without looking, so their weight is reduced.
    """
    factor = place_factor(votes)
    images = [
        _image_votes(votes, task, gold_shapes.get(task), min(pixels, WEIGHT_PIXELS)) for task in range(votes.n_tasks)
    ]
    weight = factor**power
    for _ in range(ROUNDS):
        total, n = np.zeros(votes.n_workers), np.zeros(votes.n_workers)
        for worker, row_weight, marks, count, truth in images:
            ious = iou_with_others(marks, count, row_weight * weight[worker], truth)
            is_defined = np.isfinite(ious)
            np.add.at(total, worker[is_defined], ious[is_defined])
            np.add.at(n, worker[is_defined], 1.0)
        if not n.sum():
            return weight
        mean = (total + PSEUDO_IMAGES * total.sum() / n.sum()) / (n + PSEUDO_IMAGES)
        weight = np.maximum(mean * factor, 1e-6) ** power
    return weight


def place_factor(votes: Votes[Outlines]) -> F8:
    """Return factor[worker]: 1, or less for workers who tend to draw the same place on every image.

    It is based on the IoU of the bounding boxes of what a worker drew on different images, compared with the typical
    worker, since objects that always lie in the middle affect all workers.
    """
    box, worker = _bounding_boxes(votes)
    order = np.argsort(worker, kind="stable")
    total, n = np.zeros(votes.n_workers), np.zeros(votes.n_workers)
    for lag in range(1, LAGS + 1):
        i, j = order[:-lag], order[lag:]
        i, j = (rows[worker[i] == worker[j]] for rows in (i, j))
        np.add.at(total, worker[i], iou(box[i], box[j]))
        np.add.at(n, worker[i], 1.0)
    if (n > 0).sum() < 3:
        return np.ones(votes.n_workers)
    typical = float(np.median(total[n > 0] / n[n > 0]))
    excess = ((total + PSEUDO_IMAGES * typical) / (n + PSEUDO_IMAGES) - typical) / max(1 - typical, MIN_HEADROOM)
    return np.asarray(np.clip(1 - (excess - CHANCE_EXCESS) / (1 - CHANCE_EXCESS), 1e-2, 1.0))


def _bounding_boxes(votes: Votes[Outlines]) -> tuple[F8, npt.NDArray[np.int32]]:
    """Return the bounding box (left, top, right, bottom) and the worker of each answer that is not empty."""
    rows, boxes = [], []
    for row in range(len(votes)):
        shapes = votes.answers.of_row(row)
        if shapes:
            points = np.concatenate(shapes)
            rows.append(row)
            boxes.append([*points.min(axis=0), *points.max(axis=0)])
    return np.array(boxes, dtype=np.float64).reshape(len(rows), 4), votes.worker[np.array(rows, dtype=np.int64)]


def _image_votes(
    votes: Votes[Outlines], task: int, truth: list[F8] | None, pixels: int
) -> tuple[npt.NDArray[np.int32], F8, F8, F8, F8 | None]:
    """Return (worker and weight of each row, marks[row, pattern], pixels of each pattern, patterns of the gold)."""
    rows = np.arange(votes.task_offsets[task], votes.task_offsets[task + 1])
    row_weight = np.ones(len(rows)) if votes.weight is None else votes.weight[rows]
    rows, row_weight = rows[row_weight > 0], row_weight[row_weight > 0]
    drawn = [votes.answers.of_row(int(row)) for row in rows]
    x, y = grid([*(p for outlines in drawn for p in outlines), *(truth or [])], pixels)
    worker = votes.worker[rows]
    if not len(rows) or not len(x):
        return worker, row_weight, np.zeros((len(rows), 0)), np.zeros(0), None
    shapes = drawn if truth is None else [*drawn, truth]
    marks, count, _ = patterns(np.array([fill_even_odd(outlines, x, y).ravel() for outlines in shapes]))
    return (
        (worker, row_weight, marks, count, None)
        if truth is None
        else (worker, row_weight, marks[:-1], count, marks[-1])
    )
