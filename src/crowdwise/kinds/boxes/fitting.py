"""Base class of the methods for boxes: input checks, gold, calibration and inference on new tasks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core import method_registry as registry
from ...core.arrays import F8, I8, Mask
from ...core.errors import DataError
from ...core.method import FitOptions, FitOutput, Method
from ...core.params import Share
from ...core.result import FitTrace, Result, UnknownWorkers
from ...core.truth import answers_truth, place_answers, place_gold
from ...core.vocabulary import quote
from ...core.votes import Votes
from ...evaluation.calibration import DecisionHooks
from ...stats.gold_calibration import GoldCalibration
from ...stats.ragged import ranges, sums
from .answers import BoxCoder, Boxes
from .estimate import GOLD, MAJORITY, BoxEstimate, BoxWorkers
from .maths import (
    AnswerCounts,
    DrawnBoxes,
    GoldBoxes,
    Objects,
    clustered_rate,
    count_per_answer,
    drawn_boxes,
    match_lists,
    sides_from_workers,
    with_gold,
)


def box_truth(truth: Any) -> tuple[pl.Series, Boxes]:
    """Return the tasks of a truth, given as a mapping or a table, and their boxes."""
    return answers_truth(truth, "boxes", BoxCoder)


def box_gold(gold: Any, votes: Votes[Boxes]) -> tuple[GoldBoxes | None, pl.Series, Mask | None]:
    """Return (the gold boxes, all classes, which tasks have gold).

    The codes of the votes' classes do not change: classes that only gold has come last.
    """
    tags = votes.answers.tags
    if gold is None:
        return None, tags, None
    names, boxes = box_truth(gold)
    task, is_gold = place_gold(names.to_frame("task"), votes.tasks)
    if len(boxes.corner) and tags.to_list() != [""] and boxes.tags.to_list() == [""]:
        raise DataError(f"the gold boxes have no classes, but those of the votes have ({quote(tags)})")
    more = [name for name in boxes.tags.to_list() if name not in set(tags.to_list())]
    tag_names = [*tags.to_list(), *(more if len(boxes.corner) else [])]
    code_of = {name: i for i, name in enumerate(tag_names)}
    rows = np.flatnonzero(is_gold)[np.argsort(task[is_gold], kind="stable")]
    sorted_boxes = boxes.take(rows)
    size = np.zeros(votes.n_tasks, dtype=np.int64)
    size[task[rows]] = sorted_boxes.size
    gold_mask = np.zeros(votes.n_tasks, dtype=bool)
    gold_mask[task[rows]] = True
    code = np.array([code_of.get(name, 0) for name in boxes.tags.to_list()], dtype=np.int64)
    truth = GoldBoxes(gold_mask, size, np.array(sorted_boxes.corner), code[sorted_boxes.tag])
    return truth, pl.Series("tag", tag_names, dtype=pl.String), gold_mask


# ----------------------------------------------------------------
# Estimates and gold as answers, to measure distances between them.


def estimated_answers(votes: Votes[Boxes], result: Result) -> Boxes:  # noqa: ARG001
    """Return the estimated boxes as one answer per task."""
    estimate = result.estimate_as(BoxEstimate)
    return Boxes(estimate.n_boxes, estimate.corner, estimate.tag, estimate.tags)


def gold_answers(votes: Votes[Boxes], gold: Any) -> tuple[I8, Boxes]:
    """Return the codes of the gold tasks and their boxes."""
    return place_answers(*box_truth(gold), votes.tasks)


# ----------------------------------------------------------------
# The base class of the methods.


@dataclass(frozen=True, eq=False)
class BoxSolution(FitTrace):
    """Objects found by a method, which of them are accepted, and what else the method estimates.

    `sure` is the probability that each object is true; `readers` holds estimates of `BoxWorkers` by their names.
    """

    objects: Objects
    accepted: Mask
    bias: F8 | None = None
    spread: F8 | None = None
    sure: F8 | None = None
    readers: Mapping[str, F8] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BoxAggregator(Method):
    """Base class of the methods for boxes.

    Boxes of the same object are grouped, and objects that enough workers drew become boxes of the estimate. `fit` takes
    votes or a table task, worker, boxes. Gold is a mapping or a table task, boxes; gold boxes are held fixed, and
    workers are scored against them. Calibration estimates the probability that each box is correct.

    Args:
        overlap: Minimum IoU of boxes of the same object.
        share: An object is accepted if more than this share of the image's workers drew it.
    """

    takes: ClassVar[str] = "boxes"
    overlap: Share = 0.3
    share: Share = 0.5

    def fit_votes(self, votes: Votes[Boxes], gold: Any, options: FitOptions) -> FitOutput:  # noqa: ARG002
        """Group the boxes, solve, and compare the workers with the objects."""
        truth, tags, gold_mask = box_gold(gold, votes)
        drawn = drawn_from(votes)
        objects = self.find_objects(drawn)
        if truth is not None:
            objects = with_gold(drawn, objects, truth)
        solution = self.solve(drawn, objects)
        return FitOutput(
            estimate=estimate_of(solution, votes.n_tasks, tags),
            worker_summary=summary_of(drawn, solution, self.share, gold_mask),
            gold=gold_mask,
            **solution.trace_fields(),
        )

    @abstractmethod
    def find_objects(self, drawn: DrawnBoxes) -> Objects:
        """Group boxes of the same object."""

    def solve(self, drawn: DrawnBoxes, objects: Objects) -> BoxSolution:  # noqa: ARG002
        """Return the accepted objects and their corners."""
        return BoxSolution(objects, objects.accepted(self.share))

    def solve_known(self, drawn: DrawnBoxes, objects: Objects, drawing: F8 | None) -> BoxSolution:  # noqa: ARG002
        """Return the accepted objects of new images; `drawing` are the workers' rates of an earlier fit, if any."""
        return self.solve(drawn, objects)


def summary_of(drawn: DrawnBoxes, solution: BoxSolution, share: float, gold: Mask | None) -> BoxWorkers:
    """Compare every worker with the majority of the others on images without gold, and with gold on those with it."""
    counts, overlap = count_per_answer(drawn, solution.objects, share)
    m = drawn.n_workers
    on_gold = np.zeros(len(drawn.vote_task), dtype=bool) if gold is None else gold[drawn.vote_task]
    majority = counts.of(~on_gold)
    there, drew, spurious = (_per_worker(drawn, values) for values in vars(majority).values())
    more: dict[str, Any] = {"bias": solution.bias, "spread": solution.spread, **solution.readers}
    if gold is not None:
        checked = counts.of(on_gold)
        more["gold_images"] = np.bincount(drawn.vote_worker[on_gold], minlength=m)
        more["gold_there"] = _per_worker(drawn, checked.n_objects)
        more["gold_missed"] = more["gold_there"] - _per_worker(drawn, checked.n_drawn)
        more["gold_spurious"] = _per_worker(drawn, checked.n_spurious)
        more |= dict(zip(GOLD, _rates(drawn, checked), strict=True))
    more |= dict(zip(MAJORITY, _rates(drawn, majority), strict=True))
    return BoxWorkers(there=there, drew=drew, spurious=spurious, overlap=overlap, **more)


def _rates(drawn: DrawnBoxes, counts: AnswerCounts) -> tuple[F8, ...]:
    """Return recall and precision of each worker with the ends of their intervals."""
    hits, worker, m = counts.n_drawn, drawn.vote_worker, drawn.n_workers
    recall = clustered_rate(hits, counts.n_objects, worker, m)
    return *recall, *clustered_rate(hits, hits + counts.n_spurious, worker, m)


def _per_worker(drawn: DrawnBoxes, values: I8) -> I8:
    return sums(values.astype(np.float64), drawn.vote_worker, drawn.n_workers).astype(np.int64)


def estimate_of(solution: BoxSolution, n_tasks: int, tags: pl.Series) -> BoxEstimate:
    """Return the accepted objects as an estimate, image by image and from left to right."""
    objects = solution.objects
    accepted = np.flatnonzero(solution.accepted)
    order = accepted[np.lexsort((objects.tag[accepted], *objects.corner[accepted].T[::-1], objects.task[accepted]))]
    return BoxEstimate(
        n_boxes=np.bincount(objects.task[order], minlength=n_tasks),
        corner=objects.corner[order],
        tag=objects.tag[order],
        support=objects.share[order],
        tags=tags,
        sure=None if solution.sure is None else solution.sure[order],
    )


def drawn_from(votes: Votes[Boxes]) -> DrawnBoxes:
    """Return the boxes of these votes; votes of weight 0 are dropped."""
    if votes.weight is not None and not (votes.weight > 0).all():
        votes = votes.take(votes.weight > 0)
    boxes = votes.answers
    return drawn_boxes(
        boxes.corner, boxes.tag, boxes.size, votes.task, votes.worker, votes.weight, votes.n_tasks, votes.n_workers
    )  # fmt: skip


# ----------------------------------------------------------------
# Boxes as decisions: a box is correct if a gold box of its class, matched one-to-one, overlaps it by half.

# Minimum IoU with a gold box.
OVERLAP = 0.5


def align_classes(a: Boxes, b: Boxes) -> tuple[Boxes, Boxes]:
    """Return both with codes of one list of classes; if one side has no classes, classes are ignored."""
    if len(a.corner) and len(b.corner) and (a.tags.to_list() == [""]) != (b.tags.to_list() == [""]):
        no_class = pl.Series("tag", [""])
        first, second = (Boxes(boxes.size, boxes.corner, np.zeros_like(boxes.tag), no_class) for boxes in (a, b))
        return first, second
    joined, n = a.join(b), len(a)
    return joined.take(np.arange(n)), joined.take(np.arange(n, len(joined)))


def decisions() -> DecisionHooks:
    """Return how boxes are judged right or wrong."""
    return DecisionHooks("boxes", "with an IoU of .5 or more with a known box of their class", _boxes, _right, _apply)


def _boxes(result: Result) -> tuple[I8, F8]:
    estimate = result.estimate_as(BoxEstimate)
    return np.repeat(np.arange(len(estimate)), estimate.n_boxes), estimate.support


def _right(votes: Votes[Boxes], result: Result, gold: Any) -> F8:
    estimate = result.estimate_as(BoxEstimate)
    task, gold_boxes = gold_answers(votes, gold)
    estimated = estimated_answers(votes, result).take(task)
    estimated, gold_boxes = align_classes(estimated, gold_boxes)
    _, hit, _, _ = match_lists(
        estimated.corner, gold_boxes.corner, estimated.start[:-1], estimated.size, gold_boxes.start[:-1],
        gold_boxes.size, tag_a=estimated.tag, tag_b=gold_boxes.tag, min_overlap=OVERLAP,
    )  # fmt: skip
    right = np.zeros(len(estimated.corner))
    right[hit] = 1.0
    out = np.full(len(estimate.corner), np.nan)
    out[ranges(estimate.start[:-1][task], estimate.n_boxes[task])] = right
    return out


def _apply(estimate: BoxEstimate, calibration: GoldCalibration, keep: Mask, parts: Any) -> BoxEstimate:
    del parts
    task = np.repeat(np.arange(len(estimate)), estimate.n_boxes)
    return replace(estimate, sure=np.where(keep[task], 1.0, calibration.of(estimate.support)))


# ----------------------------------------------------------------
# Boxes of new images by the same workers, with all estimates held fixed.


def infer(result: Result, votes: Votes[Boxes], unknown_workers: UnknownWorkers) -> Result:
    """Estimate the boxes of new images by the method of a result, corrected for the workers' biases if it has them."""
    old, is_known = result.worker_codes(votes.workers, unknown_workers)
    method: BoxAggregator = registry.method(result.method, **result.params)
    drawn = drawn_from(votes)
    objects = method.find_objects(drawn)
    summary = result.worker_summary
    assert isinstance(summary, BoxWorkers)
    if summary.bias is not None and summary.spread is not None:
        has_votes = result.labels_per_worker > 0
        typical = np.median(summary.spread[has_votes], axis=0) if has_votes.any() else np.ones(4)
        bias = np.where(is_known[:, None], summary.bias[old], 0.0)
        spread = np.where(is_known[:, None], summary.spread[old], typical)
        objects = replace(objects, corner=sides_from_workers(drawn, objects, bias, spread))
        solution = BoxSolution(objects, objects.accepted(method.share))
    else:
        solution = method.solve_known(drawn, objects, _rates_of(summary, result, old.astype(np.int64), is_known))
    estimate = estimate_of(solution, votes.n_tasks, votes.answers.tags)
    return result.for_votes(votes, estimate, summary.select(old, is_known, bias=0.0, spread=0.0))


def _rates_of(summary: BoxWorkers, result: Result, old: I8, is_known: Mask) -> F8 | None:
    """Return drawing[worker, class] of the workers of new images; unknown workers have the crowd's mean."""
    if summary.drawing is None:
        return None
    weight = result.labels_per_worker.astype(float)
    mean = np.average(summary.drawing, axis=0, weights=weight) if weight.any() else np.full(3, 0.5)
    return np.where(is_known[:, None], summary.drawing[old] if len(summary.drawing) else mean, mean)
