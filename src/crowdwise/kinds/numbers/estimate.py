"""Estimates of numbers with intervals, and the workers' biases, spreads and slopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8, I8
from ...core.estimate import Axes, Estimate, WorkerSummary


@dataclass(frozen=True, eq=False)
class NumberEstimate(Estimate):
    """Estimated numbers with their variances and intervals; NaN where the method has none.

    Args:
        value: value[task, part].
        variance: Variance of each estimate.
        low: Lower end of each interval.
        high: Upper end of each interval.
        parts: Names of the parts of an answer; "" where there is only one.
    """

    kind: ClassVar[str] = "numbers"
    vocabulary: ClassVar[str | None] = "parts"

    value: Annotated[F8, Axes("nk", "finite")]
    variance: Annotated[F8, Axes("nk")]
    low: Annotated[F8, Axes("nk")]
    high: Annotated[F8, Axes("nk")]
    parts: pl.Series

    @property
    def mean(self) -> F8:
        """Estimates: one number per task, or mean[task, part] where answers have several parts."""
        return self.value[:, 0] if self.value.shape[1] == 1 else self.value

    @property
    def sd(self) -> F8:
        """Standard deviations of the estimates, in the shape of `mean`."""
        sd = np.sqrt(self.variance)
        return sd[:, 0] if sd.shape[1] == 1 else sd

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Return the columns value, low, high, sd (suffixed with the part where there are several) and n_labels."""
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
        """Return the parts and the mean width of their intervals."""
        width = self.high - self.low
        wide = [None if np.isnan(w).all() else float(np.nanmean(w)) for w in width.T] if width.size else []
        return {"parts": self.parts.to_list(), "mean_interval_width": wide}

    def answer_columns(self) -> tuple[str, ...]:
        """Return the names of the answer columns: value, or value_<part>."""
        return tuple(f"value_{part}" if part else "value" for part in self.parts.to_list())

    def summary(self) -> str:
        """Describe the range of the estimates."""
        if not self.value.size:
            return "no numbers"
        parts = f"{len(self.parts)} parts, " if len(self.parts) > 1 else ""
        return f"{parts}estimates from {self.value.min():.4g} to {self.value.max():.4g}"


@dataclass(frozen=True, eq=False)
class NumberWorkers(WorkerSummary):
    """Quality of the workers, each [worker, part].

    Args:
        bias: Mean of answer minus truth.
        spread: Standard deviation of the residuals.
        slope: Scale of the worker relative to the crowd; 1 is the same scale.
        weight: Weight relative to the average worker.
        parts: Names of the parts of an answer.
    """

    vocabulary: ClassVar[str | None] = "parts"

    bias: Annotated[F8, Axes("mk", "finite")]
    spread: Annotated[F8, Axes("mk", "amounts")]
    slope: Annotated[F8, Axes("mk", "finite")]
    weight: Annotated[F8, Axes("mk", "finite")]  # negative: the worker uses the scale upside down
    parts: pl.Series

    def table(self) -> dict[str, Any]:
        """Return the columns bias, spread, slope and weight (suffixed with the part where there are several)."""
        ends = [f"_{part}" if part else "" for part in self.parts.to_list()]
        return {f"{name}{end}": getattr(self, name)[:, j] for j, end in enumerate(ends) for name in self.rules}
