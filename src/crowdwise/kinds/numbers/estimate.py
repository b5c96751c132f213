"""Estimates of numbers with intervals, and workers as biases, spreads and slopes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.estimate import Arrays, Estimate, Rules, WorkerPicture

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NumberEstimate(Estimate):
    """value[task, part] with variance and an interval low..high, NaN where the method has none.

    `parts` names the parts of an answer that has several; the only one has the name "".
    """

    kind: ClassVar[str] = "numbers"
    rules: ClassVar[Rules] = {
        "value": ("nk", "f", "finite"),
        "variance": ("nk", "f", "any"),
        "low": ("nk", "f", "any"),
        "high": ("nk", "f", "any"),
    }
    needed: ClassVar[tuple[str, ...]] = ("value", "variance", "low", "high")
    vocabulary: ClassVar[str | None] = "parts"

    value: F8
    variance: F8
    low: F8
    high: F8
    parts: pl.Series

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> NumberEstimate:  # noqa: ARG003
        """From a run folder."""
        assert names is not None
        return cls(**{name: arrays[name] for name in cls.rules}, parts=names)

    def __len__(self) -> int:
        return len(self.value)

    @property
    def mean(self) -> F8:
        """The estimates: one number a task, or a row of them where answers have several parts."""
        return self.value[:, 0] if self.value.shape[1] == 1 else self.value

    @property
    def sd(self) -> F8:
        """Their standard deviations, shaped like `mean`."""
        sd = np.sqrt(self.variance)
        return sd[:, 0] if sd.shape[1] == 1 else sd

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """value, low, high, sd (with the part's name where there are several), n_labels."""
        columns: dict[str, Any] = {}
        for j, part in enumerate(self.parts.to_list()):
            end = f"_{part}" if part else ""
            columns |= {
                f"value{end}": self.value[:, j],
                f"low{end}": self.low[:, j],
                f"high{end}": self.high[:, j],
                f"sd{end}": np.sqrt(self.variance[:, j]),
            }
        return {**columns, "n_labels": n_labels}

    without_labels: ClassVar[str] = "mean of all estimates"

    def facts(self) -> dict[str, Any]:
        """The parts, and how wide the intervals are."""
        width = self.high - self.low
        wide = [None if np.isnan(w).all() else float(np.nanmean(w)) for w in width.T] if width.size else []
        return {"parts": self.parts.to_list(), "mean_interval_width": wide}

    def answer_columns(self) -> tuple[str, ...]:
        """value, or value_<part>."""
        return tuple(f"value_{part}" if part else "value" for part in self.parts.to_list())

    def summary(self) -> str:
        """Range of the estimates."""
        if not self.value.size:
            return "no numbers"
        parts = f"{len(self.parts)} parts, " if len(self.parts) > 1 else ""
        return f"{parts}estimates from {self.value.min():.4g} to {self.value.max():.4g}"


@dataclass(frozen=True, eq=False)
class NumberWorkers(WorkerPicture):
    """bias[worker, part] (said minus true), spread (sd of what is left), slope (1: their scale is the crowd's), and
    weight, their say relative to the average worker's."""

    rules: ClassVar[Rules] = {
        "bias": ("mk", "f", "finite"),
        "spread": ("mk", "f", "amounts"),
        "slope": ("mk", "f", "finite"),
        "weight": ("mk", "f", "finite"),  # below 0: their scale is upside down
    }
    needed: ClassVar[tuple[str, ...]] = ("bias", "spread", "slope", "weight")

    bias: F8
    spread: F8
    slope: F8
    weight: F8
    parts: pl.Series

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> NumberWorkers:  # noqa: ARG003
        """From a run folder."""
        assert names is not None
        return cls(**{name: arrays[name] for name in cls.rules}, parts=names)

    def table(self) -> dict[str, Any]:
        """bias, spread, slope, weight, with the part's name where there are several."""
        ends = [f"_{part}" if part else "" for part in self.parts.to_list()]
        return {f"{name}{end}": getattr(self, name)[:, j] for j, end in enumerate(ends) for name in self.rules}
