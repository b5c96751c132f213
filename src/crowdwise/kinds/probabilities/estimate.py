"""Estimated probabilities, and the workers' parameters in log odds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.estimate import Arrays, Estimate, Rules, WorkerSummary

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProbabilityEstimate(Estimate):
    """Estimated probability that each task is true.

    Args:
        probability: probability[task].
    """

    kind: ClassVar[str] = "probabilities"
    rules: ClassVar[Rules] = {"probability": ("n", "f", "skills")}
    needed: ClassVar[tuple[str, ...]] = ("probability",)

    probability: F8

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> ProbabilityEstimate:  # noqa: ARG003
        """Restore the estimate from the arrays of a run folder."""
        return cls(arrays["probability"])

    def __len__(self) -> int:
        return len(self.probability)

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Return the columns probability, likely (whether it is above 1/2) and n_labels."""
        return {"probability": self.probability, "likely": self.probability > 0.5, "n_labels": n_labels}

    def answer_columns(self) -> tuple[str, ...]:
        """Return the name of the answer column."""
        return ("probability",)

    def to_check(self, tasks: pl.Series, picked: npt.NDArray[np.int64]) -> pl.DataFrame:
        """Return a table task, label to fill in with 1 or 0."""
        return super().to_check(tasks, picked).rename({"probability": "label"})

    def facts(self) -> dict[str, Any]:
        """Return the mean probability and the number of likely tasks."""
        if not len(self):
            return {"mean_probability": None, "likely": 0}
        return {"mean_probability": float(self.probability.mean()), "likely": int((self.probability > 0.5).sum())}

    def summary(self) -> str:
        """Describe how many tasks are likely, and the mean certainty."""
        if not len(self):
            return "no probabilities"
        sure = np.maximum(self.probability, 1 - self.probability).mean()
        n = int((self.probability > 0.5).sum())
        return f"{n:,} of {len(self):,} tasks are likely, with a mean certainty of {sure:.3f}"


@dataclass(frozen=True, eq=False)
class ProbabilityWorkers(WorkerSummary):
    """Quality of the workers, in log odds.

    Args:
        shift: Mean answer of a worker, independent of the truth.
        gap: How far the truth moves the answer up or down.
        spread: Standard deviation of the residuals.
        weight: Weight relative to the average worker.
    """

    rules: ClassVar[Rules] = {
        "shift": ("m", "f", "finite"),
        "gap": ("m", "f", "finite"),
        "spread": ("m", "f", "amounts"),
        "weight": ("m", "f", "finite"),  # negative: the answers point the other way
    }
    needed: ClassVar[tuple[str, ...]] = ("shift", "gap", "spread", "weight")

    shift: F8
    gap: F8
    spread: F8
    weight: F8

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> ProbabilityWorkers:  # noqa: ARG003
        """Restore the worker summary from the arrays of a run folder."""
        return cls(**{name: arrays[name] for name in cls.rules})

    def table(self) -> dict[str, Any]:
        """Return the columns shift, gap, spread and weight."""
        return {name: getattr(self, name) for name in self.rules}
