"""The boxes that are believed to be on each picture, and workers by what they miss and what they make up."""

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
from .answers import write
from .maths import starts

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BoxEstimate(Estimate):
    """n_boxes[task] boxes a picture, one picture after the other: corner[box, x1 y1 x2 y2], tag[box] (a code into
    `tags`) and support[box], the share of those who looked that drew it (of gold boxes 1); sure[box], the chance that
    it is right, where gold has calibrated it."""

    kind: ClassVar[str] = "boxes"
    rules: ClassVar[Rules] = {
        "n_boxes": ("n", "i", "amounts"),
        "corner": ("**", "f", "finite"),
        "tag": ("*", "i", "amounts"),
        "support": ("*", "f", "skills"),
        "sure": ("*", "f", "skills"),
    }
    needed: ClassVar[tuple[str, ...]] = ("n_boxes", "corner", "tag", "support")
    vocabulary: ClassVar[str | None] = "tags"
    without_labels: ClassVar[str] = "no boxes"

    n_boxes: I8
    corner: F8
    tag: I8
    support: F8
    tags: pl.Series
    sure: F8 | None = None

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> BoxEstimate:  # noqa: ARG003
        """From a run folder; a stranger may have had it."""
        assert names is not None
        made = cls(**{name: arrays[name] for name in cls.rules if name in arrays}, tags=names)
        n = int(made.n_boxes.sum())
        sizes = {len(each) for each in (made.tag, made.support, made.sure) if each is not None}
        if made.corner.shape != (n, 4) or sizes != {n}:
            raise DataError(f"the saved result is damaged (it holds {n:,} boxes, but not as many corners)")
        if n and int(made.tag.max()) >= len(names):
            raise DataError("the saved result is damaged (a box has a class that is not there)")
        return made

    def __len__(self) -> int:
        return len(self.n_boxes)

    @cached_property
    def start(self) -> I8:
        """Where each picture's boxes begin, and where the last one's end."""
        return starts(self.n_boxes)

    def texts(self) -> list[str]:
        """The boxes of each picture as JSON, as files have them."""
        names = self.tags.to_list()
        tags = [names[code] for code in self.tag.tolist()]
        corner = np.round(self.corner, 6)
        return [write(corner[a:b], tags[a:b]) for a, b in zip(self.start, self.start[1:], strict=False)]

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """boxes, n_boxes, support (of the box that fewest drew; null without boxes), n_labels."""
        task = np.repeat(np.arange(len(self)), self.n_boxes)
        least = np.full(len(self), np.inf)
        np.minimum.at(least, task, self.support)
        support = pl.Series(least).replace([np.inf], None)
        return {
            "boxes": pl.Series(self.texts(), dtype=pl.String),
            "n_boxes": self.n_boxes,
            "support": support,
            "n_labels": n_labels,
        }

    def box_table(self, tasks: pl.Series) -> pl.DataFrame:
        """One row a box: task, x1, y1, x2, y2, class, support and, where gold has calibrated it, confidence."""
        corners = {name: self.corner[:, j] for j, name in enumerate(("x1", "y1", "x2", "y2"))}
        task = tasks.gather(np.repeat(np.arange(len(self)), self.n_boxes))
        sure = {} if self.sure is None else {"confidence": self.sure}
        own = {"class": self.tags.gather(self.tag), "support": self.support, **sure}
        return pl.DataFrame({"task": task, **corners, **own})

    def answer_columns(self) -> tuple[str, ...]:
        """boxes."""
        return ("boxes",)

    def facts(self) -> dict[str, Any]:
        """Boxes in all, and of each class."""
        count = np.bincount(self.tag, minlength=len(self.tags)).tolist()
        return {"boxes": int(self.n_boxes.sum()), "boxes_by_class": dict(zip(self.tags.to_list(), count, strict=True))}

    def size(self) -> str:
        """Classes, where there are several."""
        return f", {len(self.tags)} classes" if len(self.tags) > 1 else ""

    def summary(self) -> str:
        """Boxes in all."""
        n = int(self.n_boxes.sum())
        mean = f", {float(self.support.mean()):.0%} of the lookers drew each" if n else ""
        return f"{n:,} boxes{mean}"


@dataclass(frozen=True, eq=False)
class BoxWorkers(WorkerPicture):
    """Of each worker: `there` objects on their pictures by the others' word, `drew` of these they drew, `spurious`
    boxes that the others do not confirm; recall and precision with 95 % intervals, NaN where nothing tells; `overlap`,
    the mean IoU of their confirmed boxes with the fused ones. `bias` and `spread` (x1 y1 x2 y2, in shares of the box's
    width and height) where the method has them."""

    rules: ClassVar[Rules] = {
        "there": ("m", "i", "amounts"),
        "drew": ("m", "i", "amounts"),
        "spurious": ("m", "i", "amounts"),
        "recall": ("m", "f", "skills"),
        "recall_low": ("m", "f", "skills"),
        "recall_high": ("m", "f", "skills"),
        "precision": ("m", "f", "skills"),
        "precision_low": ("m", "f", "skills"),
        "precision_high": ("m", "f", "skills"),
        "overlap": ("m", "f", "skills"),
        "bias": ("m*", "f", "finite"),
        "spread": ("m*", "f", "amounts"),
    }
    needed: ClassVar[tuple[str, ...]] = tuple(name for name in rules if name not in ("bias", "spread"))

    there: I8
    drew: I8
    spurious: I8
    recall: F8
    recall_low: F8
    recall_high: F8
    precision: F8
    precision_low: F8
    precision_high: F8
    overlap: F8
    bias: F8 | None = None
    spread: F8 | None = None

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> BoxWorkers:  # noqa: ARG003
        """From a run folder."""
        return cls(**{name: arrays.get(name) for name in cls.rules})  # type: ignore[arg-type]

    @property
    def missed(self) -> I8:
        """Objects that were there and that they did not draw."""
        return np.asarray(self.there - self.drew)

    def table(self) -> dict[str, Any]:
        """recall, precision, their intervals, missed, spurious, overlap; bias and spread of each side."""
        floats = ("recall", "recall_low", "recall_high", "precision", "precision_low", "precision_high", "overlap")
        columns: dict[str, Any] = {name: pl.Series(getattr(self, name)).fill_nan(None) for name in floats}
        columns |= {"there": self.there, "missed": self.missed, "spurious": self.spurious}
        for name in ("bias", "spread"):
            values = getattr(self, name)
            if values is not None:
                columns |= {f"{name}_{side}": values[:, j] for j, side in enumerate(("x1", "y1", "x2", "y2"))}
        return columns
