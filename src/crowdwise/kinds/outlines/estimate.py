"""The outline that is believed to be on each picture, and workers by how far theirs go with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.estimate import Arrays, Estimate, Rules, WorkerPicture
from .answers import Outlines

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OutlineEstimate(Estimate):
    """n_outlines[task] outlines a picture, length[outline] points each, point[point, x y]; `agreement[task]` is the
    mean IoU of the workers' masks with it (NaN where nobody looked)."""

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
        """From a run folder; a stranger may have had it."""
        made = cls(**{name: arrays[name] for name in cls.rules})
        if len(made.length) != int(made.n_outlines.sum()) or made.point.shape != (int(made.length.sum()), 2):
            raise DataError("the saved result is damaged (its outlines do not have their points)")
        return made

    def __len__(self) -> int:
        return len(self.n_outlines)

    @cached_property
    def answers(self) -> Outlines:
        """The outlines as answers, a row a task."""
        return Outlines(self.n_outlines, self.length, self.point)

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """outlines, agreement, n_labels."""
        agreement = pl.Series(self.agreement).fill_nan(None)
        return {"outlines": self.answers.columns()["outlines"], "agreement": agreement, "n_labels": n_labels}

    def answer_columns(self) -> tuple[str, ...]:
        """outlines."""
        return ("outlines",)

    def facts(self) -> dict[str, Any]:
        """Outlines in all."""
        return {"outlines": int(self.n_outlines.sum())}

    def summary(self) -> str:
        """Outlines in all and how far the workers go with them."""
        known = self.agreement[np.isfinite(self.agreement)]
        mean = f", mean IoU with the workers {known.mean():.2f}" if len(known) else ""
        return f"{int(self.n_outlines.sum()):,} outlines{mean}"


@dataclass(frozen=True, eq=False)
class OutlineWorkers(WorkerPicture):
    """Of each worker: the mean IoU of their masks with what the *others* make of the picture, with its 95 % interval;
    sensitivity and specificity over pixels where the method has them. NaN where nothing tells."""

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
        """From a run folder."""
        return cls(**{name: arrays[name] for name in cls.rules})

    def table(self) -> dict[str, Any]:
        """iou with its interval, sensitivity, specificity."""
        return {name: pl.Series(getattr(self, name)).fill_nan(None) for name in self.rules}
