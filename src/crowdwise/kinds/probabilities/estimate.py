"""Estimated probabilities, and the workers' parameters in log odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8, I8
from ...core.estimate import Axes, Estimate, WorkerSummary


@dataclass(frozen=True, eq=False)
class ProbabilityEstimate(Estimate):
    """Estimated probability that each task is true.

    Args:
        probability: probability[task].
    """

    kind: ClassVar[str] = "probabilities"

    probability: Annotated[F8, Axes("n", "skills")]

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Return the columns probability, likely (whether it is above 1/2) and n_labels."""
        return {"probability": self.probability, "likely": self.probability > 0.5, "n_labels": n_labels}

    def to_check(self, tasks: pl.Series, picked: I8) -> pl.DataFrame:
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

    shift: Annotated[F8, Axes("m", "finite")]
    gap: Annotated[F8, Axes("m", "finite")]
    spread: Annotated[F8, Axes("m", "amounts")]
    weight: Annotated[F8, Axes("m", "finite")]  # negative: the answers point the other way
