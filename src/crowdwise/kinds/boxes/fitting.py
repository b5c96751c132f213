"""Base class of the methods for boxes: input checks, gold, calibration and inference on new tasks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
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
from ...core.params import Share
from ...core.result import Result, versions
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.calibration import DecisionHooks, checked, wanted
from ...stats.gold_calibration import GoldCalibration
from ...stats.ragged import ranges
from ..classes.methods.infer import Policy, refuse_strangers
from .answers import BoxCoder, Boxes, box_votes, detect_columns
from .estimate import BoxEstimate, BoxWorkers
from .maths import (
    DrawnBoxes,
    GoldBoxes,
    Objects,
    count_per_worker,
    drawn_boxes,
    match_lists,
    rate,
    sides_from_workers,
    with_gold,
)

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def box_truth(truth: Any) -> tuple[pl.Series, Boxes]:
    """Return the tasks of a truth, given as a mapping or a table, and their boxes."""
    if isinstance(truth, dict):
        truth = pl.DataFrame({"task": pl.Series(list(truth)), "boxes": BoxCoder({"boxes": list(truth.values())}).texts})
    table = truth_table(truth, ("boxes",), aliases=("label",))
    try:
        boxes = BoxCoder({"boxes": table["boxes"]}).finish()
    except DataError as error:
        raise DataError(f"the truth: {error}") from None
    return table["task"], boxes


def box_gold(gold: Any, votes: Votes[Boxes]) -> tuple[GoldBoxes | None, pl.Series, npt.NDArray[np.bool_] | None]:
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
    estimate = result.estimate
    assert isinstance(estimate, BoxEstimate)
    return Boxes(estimate.n_boxes, estimate.corner, estimate.tag, estimate.tags)


def gold_answers(votes: Votes[Boxes], gold: Any) -> tuple[npt.NDArray[np.int64], Boxes]:
    """Return the codes of the gold tasks and their boxes."""
    names, boxes = box_truth(gold)
    task, is_gold = place_gold(names.to_frame("task"), votes.tasks)
    rows = np.flatnonzero(is_gold)
    return task[rows].astype(np.int64), boxes.take(rows)


# ----------------------------------------------------------------
# The base class of the methods.


@dataclass(frozen=True, eq=False)
class BoxSolution:
    """Objects found by a method, which of them are accepted, and the workers' biases if the method estimates them."""

    objects: Objects
    accepted: Mask
    bias: F8 | None = None
    spread: F8 | None = None
    n_iter: int = 0
    converged: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BoxAggregator(Method):
    """Base class of the methods for boxes.

    Boxes of the same object are grouped, and objects that enough workers drew become boxes of the estimate.

    Args:
        overlap: Minimum IoU of boxes of the same object.
        share: An object is accepted if more than this share of the image's workers drew it.
    """

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
        """Estimate the boxes of each image and the quality of the workers.

        Args:
            votes: Votes, or a table with the columns task, worker, boxes.
            gold: Known boxes of some images, as a mapping or a table with the columns task, boxes. They are held fixed,
                and workers are scored against them.
            prior: Not supported by methods for boxes.
            n_shards: Ignored.
            callback: Ignored.
            calibrate: Whether to estimate on gold the probability that each box is correct. None: only the default
                method does.

        Returns:
            The result, with a `BoxEstimate` and a `BoxWorkers`.

        Raises:
            DataError: If the votes are not boxes, or gold boxes lack classes that the votes have.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_boxes(votes)
        truth, tags, gold_mask = box_gold(gold, votes)
        drawn = drawn_from(votes)
        objects = self.find_objects(drawn)
        if truth is not None:
            objects = with_gold(drawn, objects, truth)
        solution = self.solve(drawn, objects)
        self.warn_unless_settled(solution.converged, solution.n_iter)
        result = self._result(votes, drawn, solution, tags, gold_mask)
        return checked(self, result, votes, gold) if wanted(self, gold, calibrate) else result

    @abstractmethod
    def find_objects(self, drawn: DrawnBoxes) -> Objects:
        """Group boxes of the same object."""

    def solve(self, drawn: DrawnBoxes, objects: Objects) -> BoxSolution:  # noqa: ARG002
        """Return the accepted objects and their corners."""
        return BoxSolution(objects, objects.accepted(self.share))

    def _result(
        self, votes: Votes[Boxes], drawn: DrawnBoxes, solution: BoxSolution, tags: pl.Series, gold_mask: Mask | None
    ) -> Result:
        counts = count_per_worker(drawn, solution.objects, self.share)
        recall = rate(counts.n_drawn, counts.n_objects)
        precision = rate(counts.n_drawn, counts.n_drawn + counts.n_spurious)
        summary = BoxWorkers(
            counts.n_objects,
            counts.n_drawn,
            counts.n_spurious,
            *recall,
            *precision,
            counts.overlap,
            solution.bias,
            solution.spread,
        )
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=estimate_of(solution, votes.n_tasks, tags),
            worker_summary=summary,
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=gold_mask,
            n_iter=solution.n_iter,
            converged=solution.converged,
            extra=solution.extra,
            versions=versions(),
        )


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
    )


def drawn_from(votes: Votes[Boxes]) -> DrawnBoxes:
    """Return the boxes of these votes; votes of weight 0 are dropped."""
    if votes.weight is not None and not (votes.weight > 0).all():
        votes = votes.take(votes.weight > 0)
    boxes = votes.answers
    return drawn_boxes(
        boxes.corner, boxes.tag, boxes.size, votes.task, votes.worker, votes.weight, votes.n_tasks, votes.n_workers
    )  # fmt: skip


def as_boxes(votes: Any) -> Votes[Boxes]:
    """Return votes of boxes; a table with the columns task, worker, boxes is converted.

    Raises:
        DataError: If the votes are of another kind or not votes at all.
    """
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Boxes):
            return votes
        raise DataError(
            f"boxes are needed, got {votes.kind.display_name}; read the file with kind='boxes' (--kind boxes), or use "
            "a method for them"
        )
    if isinstance(votes, str | Path):
        raise DataError(f"votes are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
    if isinstance(votes, np.ndarray | list | tuple):
        raise DataError("votes are needed; three columns go through cw.boxes.box_votes(task, worker, boxes)")
    frame = to_polars(votes)
    picked, _ = pick(frame, dict(detect_columns(frame.columns) or {}), "the frame", (), ("task", "worker", "boxes"))
    return box_votes(picked.pop("task"), picked.pop("worker"), picked.pop("boxes"), **picked)


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


def _estimate(result: Result) -> BoxEstimate:
    assert isinstance(result.estimate, BoxEstimate)
    return result.estimate


def _boxes(result: Result) -> tuple[I8, F8]:
    estimate = _estimate(result)
    return np.repeat(np.arange(len(estimate)), estimate.n_boxes), estimate.support


def _right(votes: Votes[Boxes], result: Result, gold: Any) -> F8:
    estimate = _estimate(result)
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


def infer(result: Result, votes: Votes[Boxes], unknown_workers: Policy) -> Result:
    """Estimate the boxes of new images by the method of a result, corrected for the workers' biases if it has them."""
    votes = as_boxes(votes)
    old, is_known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, is_known, unknown_workers)
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
        solution = method.solve(drawn, objects)
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=estimate_of(solution, votes.n_tasks, votes.answers.tags),
        worker_summary=_summary_of(summary, old, is_known),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
        extra={},
    )


def _summary_of(summary: BoxWorkers, old: np.ndarray, is_known: np.ndarray) -> BoxWorkers:
    """Return the summary of these workers; entries of unknown workers are NaN or 0."""
    parts = {}
    for name, values in summary.arrays().items():
        unknown = np.nan if values.ndim == 1 and values.dtype.kind == "f" else 0
        mask = is_known if values.ndim == 1 else is_known[:, None]
        parts[name] = np.where(mask, values[old], unknown) if len(values) else values[old]
    return BoxWorkers(**parts)
