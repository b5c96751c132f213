"""Estimated outlines of each image, and the overlap of each worker with the other workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.estimate import Arrays, Estimate, Rules, WorkerSummary
from .answers import Outlines

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


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
    rules: ClassVar[Rules] = {
        "n_outlines": ("n", "i", "amounts"),
        "length": ("*", "i", "amounts"),
        "point": ("**", "f", "finite"),
        "agreement": ("n", "f", "skills"),
    }
    needed: ClassVar[tuple[str, ...]] = tuple(rules)
    without_labels: ClassVar[str] = "no outlines"

    n_outlines: I8
    length: I8
    point: F8
    agreement: F8

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> OutlineEstimate:  # noqa: ARG003
        """Return the estimate from the arrays of a run folder, which may have been edited."""
        estimate = cls(**{name: arrays[name] for name in cls.rules})
        if len(estimate.length) != int(estimate.n_outlines.sum()) or estimate.point.shape != (
            int(estimate.length.sum()),
            2,
        ):
            raise DataError("the saved result is damaged (its outlines do not have their points)")
        return estimate

    def __len__(self) -> int:
        return len(self.n_outlines)

    @cached_property
    def answers(self) -> Outlines:
        """The outlines as answers, one row per task."""
        return Outlines(self.n_outlines, self.length, self.point)

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Return outlines, agreement and n_labels."""
        agreement = pl.Series(self.agreement).fill_nan(None)
        return {"outlines": self.answers.columns()["outlines"], "agreement": agreement, "n_labels": n_labels}

    def answer_columns(self) -> tuple[str, ...]:
        """Return the columns of an answer."""
        return ("outlines",)

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

    rules: ClassVar[Rules] = {
        "iou": ("m", "f", "skills"),
        "iou_low": ("m", "f", "skills"),
        "iou_high": ("m", "f", "skills"),
        "sensitivity": ("m", "f", "skills"),
        "specificity": ("m", "f", "skills"),
    }
    needed: ClassVar[tuple[str, ...]] = tuple(rules)

    iou: F8
    iou_low: F8
    iou_high: F8
    sensitivity: F8
    specificity: F8

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> OutlineWorkers:  # noqa: ARG003
        """Return the worker summary from the arrays of a run folder."""
        return cls(**{name: arrays[name] for name in cls.rules})

    def table(self) -> dict[str, Any]:
        """Return iou with its interval, sensitivity and specificity."""
        return {name: pl.Series(getattr(self, name)).fill_nan(None) for name in self.rules}
