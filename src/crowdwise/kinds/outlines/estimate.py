"""Estimated outlines of each image, and the overlap of each worker with the other workers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8, I8
from ...core.errors import DataError
from ...core.estimate import Axes, Estimate, WorkerSummary
from .answers import Outlines


@dataclass(frozen=True, eq=False)
class OutlineEstimate(Estimate):
    """Estimated outlines, one image after the other.

    Args:
        n_outlines: n_outlines[task], the number of outlines of each image.
        length: length[outline], the number of points of each outline.
        point: point[point, x y].
        agreement: agreement[task], the mean IoU of the workers' masks with the estimate; NaN without answers.
    """

    kind: ClassVar[str] = "outlines"
    without_labels: ClassVar[str] = "no outlines"

    n_outlines: Annotated[I8, Axes("n", "amounts")]
    length: Annotated[I8, Axes("*", "amounts")]
    point: Annotated[F8, Axes("**", "finite")]
    agreement: Annotated[F8, Axes("n", "skills")]

    def check(self) -> None:
        """Raise if arrays of a run folder contradict each other."""
        n_outlines, n_points = int(self.n_outlines.sum()), int(self.length.sum())
        if len(self.length) != n_outlines or self.point.shape != (n_points, 2):
            raise DataError("the saved result is damaged (its outlines do not have their points)")

    @cached_property
    def answers(self) -> Outlines:
        """The outlines as answers, one row per task."""
        return Outlines(self.n_outlines, self.length, self.point)

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Return outlines, agreement and n_labels."""
        agreement = pl.Series(self.agreement).fill_nan(None)
        return {"outlines": self.answers.columns()["outlines"], "agreement": agreement, "n_labels": n_labels}

    def facts(self) -> dict[str, Any]:
        """Return the number of outlines."""
        return {"outlines": int(self.n_outlines.sum())}

    def summary(self) -> str:
        """Return the number of outlines and the mean IoU of the workers with them."""
        agreement = self.agreement[np.isfinite(self.agreement)]
        mean = f", mean IoU with the workers {agreement.mean():.2f}" if len(agreement) else ""
        return f"{int(self.n_outlines.sum()):,} outlines{mean}"


@dataclass(frozen=True, eq=False)
class OutlineWorkers(WorkerSummary):
    """Overlap of each worker with the others; NaN where it is unknown.

    Args:
        iou: Mean IoU of the worker's masks with the estimate from the *other* workers.
        iou_low: Lower end of the 95 % interval of `iou`.
        iou_high: Upper end of the 95 % interval of `iou`.
        sensitivity: Share of the pixels inside that the worker marked, if the method estimates it.
        specificity: Share of the pixels outside that the worker left unmarked, if the method estimates it.
    """

    iou: Annotated[F8, Axes("m", "skills")]
    iou_low: Annotated[F8, Axes("m", "skills")]
    iou_high: Annotated[F8, Axes("m", "skills")]
    sensitivity: Annotated[F8, Axes("m", "skills")]
    specificity: Annotated[F8, Axes("m", "skills")]
