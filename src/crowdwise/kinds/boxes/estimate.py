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
        sure: sure[box], the probability that the box is correct; only if calibrated on gold.
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


@dataclass(frozen=True, eq=False)
class BoxWorkers(WorkerSummary):
    """Recall and precision of each worker, judged by the other workers' boxes or by gold.

    Args:
        there: Number of objects on the worker's images.
        drew: Number of these objects that the worker drew.
        spurious: Number of the worker's boxes that match no object.
        recall: Share of the objects that the worker drew; NaN if unknown.
        recall_low: Lower end of the 95 % interval of `recall`.
        recall_high: Upper end of the 95 % interval of `recall`.
        precision: Share of the worker's boxes that match an object; NaN if unknown.
        precision_low: Lower end of the 95 % interval of `precision`.
        precision_high: Upper end of the 95 % interval of `precision`.
        overlap: Mean IoU of the worker's matched boxes with the estimated boxes.
        bias: bias[worker, x1 y1 x2 y2] in units of the box's width and height, if the method estimates it.
        spread: spread[worker, x1 y1 x2 y2], the standard deviation of the worker's sides in the same units.
    """

    there: Annotated[I8, Axes("m", "amounts")]
    drew: Annotated[I8, Axes("m", "amounts")]
    spurious: Annotated[I8, Axes("m", "amounts")]
    recall: Annotated[F8, Axes("m", "skills")]
    recall_low: Annotated[F8, Axes("m", "skills")]
    recall_high: Annotated[F8, Axes("m", "skills")]
    precision: Annotated[F8, Axes("m", "skills")]
    precision_low: Annotated[F8, Axes("m", "skills")]
    precision_high: Annotated[F8, Axes("m", "skills")]
    overlap: Annotated[F8, Axes("m", "skills")]
    bias: Annotated[F8, Axes("m*", "finite")] | None = None
    spread: Annotated[F8, Axes("m*", "amounts")] | None = None

    @property
    def missed(self) -> I8:
        """Number of objects on the worker's images that the worker did not draw."""
        return np.asarray(self.there - self.drew)

    def table(self) -> dict[str, Any]:
        """Return recall and precision with intervals, counts, overlap and, if estimated, bias and spread per side."""
        floats = ("recall", "recall_low", "recall_high", "precision", "precision_low", "precision_high", "overlap")
        columns: dict[str, Any] = {name: pl.Series(getattr(self, name)).fill_nan(None) for name in floats}
        columns |= {"there": self.there, "missed": self.missed, "spurious": self.spurious}
        for name in ("bias", "spread"):
            values = getattr(self, name)
            if values is not None:
                columns |= {f"{name}_{side}": values[:, j] for j, side in enumerate(("x1", "y1", "x2", "y2"))}
        return columns
