"""Estimated boxes of each image, and the recall and precision of each worker."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8, I8
from ...core.errors import DataError
from ...core.estimate import Axes, Estimate, WorkerSummary
from ...stats.ragged import starts
from .answers import write


@dataclass(frozen=True, eq=False)
class BoxEstimate(Estimate):
    """Estimated boxes, one image after the other.

    Args:
        n_boxes: n_boxes[task], the number of boxes of each image.
        corner: corner[box, x1 y1 x2 y2].
        tag: tag[box], the class of each box as a code into `tags`.
        support: support[box], the share of the image's workers who drew the box; 1 for gold boxes.
        tags: Names of the classes.
        sure: sure[box], the probability that the box is correct; only if calibrated on gold or from a model of the
            objects.
    """

    kind: ClassVar[str] = "boxes"
    vocabulary: ClassVar[str | None] = "tags"
    without_labels: ClassVar[str] = "no boxes"

    n_boxes: Annotated[I8, Axes("n", "amounts")]
    corner: Annotated[F8, Axes("**", "finite")]
    tag: Annotated[I8, Axes("*", "amounts")]
    support: Annotated[F8, Axes("*", "skills")]
    tags: pl.Series
    sure: Annotated[F8, Axes("*", "skills")] | None = None

    def check(self) -> None:
        """Raise if arrays of a run folder contradict each other."""
        n = int(self.n_boxes.sum())
        sizes = {len(array) for array in (self.tag, self.support, self.sure) if array is not None}
        if self.corner.shape != (n, 4) or sizes != {n}:
            raise DataError(f"the saved result is damaged (it holds {n:,} boxes, but not as many corners)")
        if n and int(self.tag.max()) >= len(self.tags):
            raise DataError("the saved result is damaged (a box has an unknown class)")

    @cached_property
    def start(self) -> I8:
        """Index of the first box of each image, and the number of boxes."""
        return starts(self.n_boxes)

    def texts(self) -> list[str]:
        """Return the boxes of each image as JSON."""
        names = self.tags.to_list()
        tags = [names[code] for code in self.tag.tolist()]
        corner = np.round(self.corner, 6)
        return [write(corner[a:b], tags[a:b]) for a, b in zip(self.start, self.start[1:], strict=False)]

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Return boxes, n_boxes, support (the lowest of the image's boxes; null without boxes) and n_labels."""
        task = np.repeat(np.arange(len(self)), self.n_boxes)
        lowest = np.full(len(self), np.inf)
        np.minimum.at(lowest, task, self.support)
        support = pl.Series(lowest).replace([np.inf], None)
        return {
            "boxes": pl.Series(self.texts(), dtype=pl.String),
            "n_boxes": self.n_boxes,
            "support": support,
            "n_labels": n_labels,
        }

    def box_table(self, tasks: pl.Series) -> pl.DataFrame:
        """Return a table with one row per box: task, x1, y1, x2, y2, class, support and, if calibrated, confidence."""
        corners = {name: self.corner[:, j] for j, name in enumerate(("x1", "y1", "x2", "y2"))}
        task = tasks.gather(np.repeat(np.arange(len(self)), self.n_boxes))
        sure = {} if self.sure is None else {"confidence": self.sure}
        columns = {"class": self.tags.gather(self.tag), "support": self.support, **sure}
        return pl.DataFrame({"task": task, **corners, **columns})

    def facts(self) -> dict[str, Any]:
        """Return the number of boxes, in total and per class."""
        count = np.bincount(self.tag, minlength=len(self.tags)).tolist()
        return {"boxes": int(self.n_boxes.sum()), "boxes_by_class": dict(zip(self.tags.to_list(), count, strict=True))}

    def size(self) -> str:
        """Return the number of classes, if there are several."""
        return f", {len(self.tags)} classes" if len(self.tags) > 1 else ""

    def summary(self) -> str:
        """Return the number of boxes and their mean support."""
        n = int(self.n_boxes.sum())
        mean = f", each drawn by {float(self.support.mean()):.0%} of the image's workers on average" if n else ""
        return f"{n:,} boxes{mean}"


# The shares of a worker with their intervals, by what they are measured against.
MAJORITY = tuple(f"majority_{name}{end}" for name in ("recall", "precision") for end in ("", "_low", "_high"))
GOLD = tuple(f"{name}{end}" for name in ("recall", "precision") for end in ("", "_low", "_high"))
MODEL = ("sensitivity", "sensitivity_low", "sensitivity_high", "false_alarms")


@dataclass(frozen=True, eq=False)
class BoxWorkers(WorkerSummary):
    """Agreement of each worker with the majority of the others and, with gold, recall and precision.

    All intervals are 95 % intervals that allow for objects of one image being missed together. A box belongs to an
    object if it overlaps the object's box by at least half.

    Args:
        there: Number of objects that the majority of the others drew on the worker's images without gold.
        drew: Number of these objects that the worker drew.
        spurious: Number of the worker's boxes that match no such object.
        majority_recall: Share of the majority's objects that the worker drew; NaN if unknown. This is agreement: an
            object that most workers miss counts against the worker who draws it.
        majority_recall_low: Lower end of the interval of `majority_recall`.
        majority_recall_high: Upper end of the interval of `majority_recall`.
        majority_precision: Share of the worker's boxes that match an object of the majority; NaN if unknown.
        majority_precision_low: Lower end of the interval of `majority_precision`.
        majority_precision_high: Upper end of the interval of `majority_precision`.
        overlap: Mean IoU of the worker's matched boxes with the estimated boxes.
        gold_images: Number of the worker's images with gold, if gold was given.
        gold_there: Number of gold boxes on these images.
        gold_missed: Number of these that the worker did not draw.
        gold_spurious: Number of the worker's boxes that match no gold box.
        recall: Share of the gold boxes that the worker drew; NaN without images with gold.
        recall_low: Lower end of the interval of `recall`.
        recall_high: Upper end of the interval of `recall`.
        precision: Share of the worker's boxes on images with gold that match a gold box.
        precision_low: Lower end of the interval of `precision`.
        precision_high: Upper end of the interval of `precision`.
        sensitivity: Estimated share of the true objects that the worker draws, if the method has a model of them.
        sensitivity_low: Lower end of the interval of `sensitivity`.
        sensitivity_high: Upper end of the interval of `sensitivity`.
        false_alarms: Estimated number of boxes per image that show no true object.
        drawing: drawing[worker, class], the probability of drawing a candidate that is false, faint or clear, if the
            method has a model of them.
        bias: bias[worker, x1 y1 x2 y2] in units of the box's width and height, if the method estimates it.
        spread: spread[worker, x1 y1 x2 y2], the standard deviation of the worker's sides in the same units.
    """

    there: Annotated[I8, Axes("m", "amounts")]
    drew: Annotated[I8, Axes("m", "amounts")]
    spurious: Annotated[I8, Axes("m", "amounts")]
    majority_recall: Annotated[F8, Axes("m", "skills")]
    majority_recall_low: Annotated[F8, Axes("m", "skills")]
    majority_recall_high: Annotated[F8, Axes("m", "skills")]
    majority_precision: Annotated[F8, Axes("m", "skills")]
    majority_precision_low: Annotated[F8, Axes("m", "skills")]
    majority_precision_high: Annotated[F8, Axes("m", "skills")]
    overlap: Annotated[F8, Axes("m", "skills")]
    gold_images: Annotated[I8, Axes("m", "amounts")] | None = None
    gold_there: Annotated[I8, Axes("m", "amounts")] | None = None
    gold_missed: Annotated[I8, Axes("m", "amounts")] | None = None
    gold_spurious: Annotated[I8, Axes("m", "amounts")] | None = None
    recall: Annotated[F8, Axes("m", "skills")] | None = None
    recall_low: Annotated[F8, Axes("m", "skills")] | None = None
    recall_high: Annotated[F8, Axes("m", "skills")] | None = None
    precision: Annotated[F8, Axes("m", "skills")] | None = None
    precision_low: Annotated[F8, Axes("m", "skills")] | None = None
    precision_high: Annotated[F8, Axes("m", "skills")] | None = None
    sensitivity: Annotated[F8, Axes("m", "skills")] | None = None
    sensitivity_low: Annotated[F8, Axes("m", "skills")] | None = None
    sensitivity_high: Annotated[F8, Axes("m", "skills")] | None = None
    false_alarms: Annotated[F8, Axes("m", "amounts")] | None = None
    drawing: Annotated[F8, Axes("m*", "skills")] | None = None
    bias: Annotated[F8, Axes("m*", "finite")] | None = None
    spread: Annotated[F8, Axes("m*", "amounts")] | None = None

    @property
    def missed(self) -> I8:
        """Number of the majority's objects on the worker's images that the worker did not draw."""
        return np.asarray(self.there - self.drew)

    def table(self) -> dict[str, Any]:
        """Return recall and precision with intervals, counts, overlap and, if estimated, bias and spread per side."""
        columns: dict[str, Any] = {}
        for name in ("gold_images", *GOLD, "gold_there", "gold_missed", "gold_spurious", *MODEL, *MAJORITY, "overlap"):
            values = getattr(self, name)
            if values is not None:
                columns[name] = pl.Series(values).fill_nan(None) if values.dtype.kind == "f" else values
        columns |= {"there": self.there, "missed": self.missed, "spurious": self.spurious}
        for name in ("bias", "spread"):
            values = getattr(self, name)
            if values is not None:
                columns |= {f"{name}_{side}": values[:, j] for j, side in enumerate(("x1", "y1", "x2", "y2"))}
        return columns
